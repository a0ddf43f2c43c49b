#include "record/last_words.h"

#include <fcntl.h>
#include <loupe/files/compression.h>
#include <loupe/text/number_text.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <atomic>
#include <climits>
#include <cstdint>
#include <cstring>
#include <ctime>
#include <string>

namespace loupe::record {

/// Data of a LastWords. In static memory, because a handler must not follow pointers into a heap that may be damaged.
struct Place {
  enum State : int { is_free, is_kept, is_ready };
  std::atomic<int> state{is_free};
  char record[PATH_MAX] = "", compressed[PATH_MAX] = "";  // the record's two possible names
  char epoch[32] = "";
};

namespace {

Place places[16];

template <std::size_t size>
bool copy(char (&into)[size], const std::string& text) {
  if (text.size() >= size) return false;
  std::memcpy(into, text.c_str(), text.size() + 1);
  return true;
}

/// A line that is built without heap memory. Text that does not fit is left out.
class Line {
 public:
  void add(const char* text) {
    while (*text != '\0') put(*text++);
  }
  void add(std::uint64_t number) {
    char digits[24];
    std::size_t count = 0;
    do {
      digits[count++] = static_cast<char>('0' + number % 10);
      number /= 10;
    } while (number != 0);
    while (count > 0) put(digits[--count]);
  }
  /// Adds a text between JSON quotes; the text may be invalid UTF-8.
  void add_quoted(const char* text) {
    constexpr std::size_t rest = 16;  // room for the end of the line
    for (; *text != '\0' && size_ + rest < sizeof text_; ++text) {
      const auto c = static_cast<unsigned char>(*text);
      if (c == '"' || c == '\\') put('\\');
      put(c < 0x20 ? ' ' : c < 0x7f ? *text : '?');
    }
  }
  /// Returns false if the file does not exist.
  bool append_to(const char* file) const { return append(file, text_, size_); }
  /// The same for a compressed file: appends a gzip member with one uncompressed block (RFC 1952, RFC 1951).
  bool append_member_to(const char* file) const {
    constexpr unsigned char head[] = {0x1f, 0x8b, Z_DEFLATED, 0, 0, 0, 0, 0, 0, 0xff, 1};
    unsigned char member[sizeof head + 4 + sizeof text_ + 8];
    std::memcpy(member, head, sizeof head);
    std::size_t size = sizeof head;
    const auto put_number = [&](std::uint64_t number, int bytes) {
      for (int i = 0; i < bytes; ++i) member[size++] = static_cast<unsigned char>(number >> (8 * i));
    };
    put_number(size_, 2);
    put_number(~size_, 2);
    std::memcpy(member + size, text_, size_);
    size += size_;
    put_number(::crc32(0, reinterpret_cast<const Bytef*>(text_), static_cast<uInt>(size_)), 4);
    put_number(size_, 4);
    return append(file, member, size);
  }

 private:
  static bool append(const char* file, const void* bytes, std::size_t size) {
    const int output = ::open(file, O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    if (output < 0) return false;
    struct stat status {};
    if (::fstat(output, &status) == 0 && S_ISREG(status.st_mode)) static_cast<void>(!::write(output, bytes, size));
    ::close(output);
    return true;
  }
  void put(char c) {
    if (size_ < sizeof text_) text_[size_++] = c;
  }

  char text_[1024];
  std::size_t size_ = 0;
};

/// Appends the line if it was not appended before.
void speak(void* place, const char* how, const char* message, std::uint64_t step) {
  Place& of = *static_cast<Place*>(place);
  int ready = Place::is_ready;
  if (!of.state.compare_exchange_strong(ready, Place::is_kept)) return;
  Line line;
  line.add(R"({"kind":"end","epoch":)");
  line.add(of.epoch);
  line.add(R"(,"how":")");
  line.add(how);
  line.add(R"(","timestamp":)");
  line.add(static_cast<std::uint64_t>(std::time(nullptr)));
  line.add(R"(,"step":)");
  line.add(step);
  line.add(R"(,"message":")");
  line.add_quoted(message);
  line.add("\"}\n");
  if (!line.append_member_to(of.compressed)) line.append_to(of.record);
}

}  // namespace

LastWords::LastWords(const Host& host) {
  for (Place& each : places) {
    int free = Place::is_free;
    if (!each.state.compare_exchange_strong(free, Place::is_kept)) continue;
    place_ = &each;
    told_.emplace(host, &speak, place_);
    return;
  }
}

LastWords::~LastWords() {
  told_.reset();
  if (place_ != nullptr) place_->state = Place::is_free;
}

void LastWords::prepare(const std::filesystem::path& record, double epoch) {
  if (place_ == nullptr) return;
  place_->state = Place::is_kept;
  const bool fits = copy(place_->record, record.string()) && copy(place_->compressed, compressed_name(record).string());
  if (fits && copy(place_->epoch, number_text(epoch))) place_->state = Place::is_ready;
}

void LastWords::take_back() {
  if (place_ != nullptr) place_->state = Place::is_kept;
}

}  // namespace loupe::record
