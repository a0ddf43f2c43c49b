#include "tensorboard/event_file.h"

#include <fcntl.h>
#include <loupe/files/descriptor.h>
#include <loupe/files/output_path.h>
#include <unistd.h>

#include <boost/crc.hpp>
#include <chrono>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <system_error>
#include <utility>

#include "tensorboard/messages.h"

namespace loupe::tensorboard {

namespace {

constexpr std::size_t MOST_WAITING_BYTES = std::size_t{64} << 20;

std::uint32_t masked_crc(const std::string& text) {
  boost::crc_optimal<32, 0x1edc6f41, 0xffffffff, 0xffffffff, true, true> crc;
  crc.process_bytes(text.data(), text.size());
  // As TensorFlow defines it: the rotation and constant avoid problems with checksums of texts that contain checksums.
  const std::uint32_t sum = crc.checksum();
  return ((sum >> 15) | (sum << 17)) + 0xa282ead8U;
}

std::string little_endian(std::uint64_t number, std::size_t bytes) {
  std::string text;
  for (std::size_t i = 0; i < bytes; ++i) text += static_cast<char>(number >> (8 * i) & 0xff);
  return text;
}

double seconds_since_1970() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

std::string host_name() {
  char name[256] = "";
  if (gethostname(name, sizeof name - 1) != 0 || name[0] == '\0') return "localhost";
  return name;
}

}  // namespace

std::string framed(const std::string& message) {
  const std::string length = little_endian(message.size(), 8);
  return length + little_endian(masked_crc(length), 4) + message + little_endian(masked_crc(message), 4);
}

EventFile::EventFile(std::filesystem::path folder, const Host& host) : folder_(std::move(folder)), host_(host) {}

void EventFile::add_summary(std::int64_t step, const std::string& summary) {
  std::string message;
  protozero::pbf_builder<Event> event(message);
  event.add_double(Event::double_wall_time, seconds_since_1970());
  event.add_int64(Event::int64_step, step);
  event.add_message(Event::message_summary, summary);
  tick_ += framed(message);
}

void EventFile::add_start(std::int64_t step) {
  std::string message;
  protozero::pbf_builder<Event> event(message);
  event.add_double(Event::double_wall_time, seconds_since_1970());
  event.add_int64(Event::int64_step, step);
  protozero::pbf_builder<SessionLog>(event, Event::message_session_log)
      .add_enum(SessionLog::enum_status, SESSION_LOG_START);
  tick_ += framed(message);
}

void EventFile::write() {
  if (!tick_.empty()) {
    waiting_bytes_ += tick_.size();
    waiting_.push_back(std::exchange(tick_, std::string()));
  }
  if (waiting_.empty()) return;
  try {
    append();
  } catch (const std::system_error& reason) {
    const bool was_whole = lost_ == 0;
    for (; waiting_bytes_ > MOST_WAITING_BYTES && waiting_.size() > 1; ++lost_) {
      waiting_bytes_ -= waiting_.front().size();
      waiting_.pop_front();
    }
    const std::string lost = lost_ > 0 ? "the oldest waiting events are lost; the rest" : "the data";
    const Error error = cannot_write(file_.empty() ? folder_ : file_, reason,
                                     lost + " is kept in memory until the file can be written");
    if (was_whole && lost_ > 0) host_.warn(std::string(error.what()) + "; no more than 64 MiB are kept");
    throw error;
  }
  if (lost_ > 0) {
    host_.warn("'" + file_.string() + "' can be written again, but lacks the numbers of " + std::to_string(lost_) +
               (lost_ == 1 ? " tick" : " ticks"));
  }
  waiting_.clear();
  waiting_bytes_ = 0;
  lost_ = 0;
}

void EventFile::open() {
  make_folder_of(folder_ / "events");
  const std::string end = "." + host_name() + "." + std::to_string(getpid()) + ".loupe";
  const double now = seconds_since_1970();
  std::string first;
  protozero::pbf_builder<Event> event(first);
  event.add_double(Event::double_wall_time, now);
  event.add_string(Event::string_file_version, "brain.Event:2");
  // TensorBoard reads the files of a folder in the order of their names, so if a name is taken, use a later time.
  for (auto time = static_cast<std::int64_t>(now);; ++time) {
    char number[24];
    std::snprintf(number, sizeof number, "%010" PRId64, time);
    const std::filesystem::path file = folder_ / ("events.out.tfevents." + std::string(number) + end);
    try {
      const Descriptor made(file, O_WRONLY | O_CREAT | O_EXCL);
      try {
        write_all(made.get(), framed(first));
      } catch (const std::system_error&) {
        ::unlink(file.c_str());
        throw;
      }
      file_ = file;
      return;
    } catch (const std::system_error& reason) {
      if (reason.code() != std::errc::file_exists) throw;
    }
  }
}

void EventFile::append() {
  std::error_code ignored;
  if (file_.empty()) {
    open();
  } else if (!std::filesystem::exists(file_, ignored)) {
    const std::string gone = file_.string();
    open();
    host_.warn("'" + gone + "' was deleted with its content; TensorBoard's events continue in '" + file_.string() +
               "'");
  }
  const Descriptor output(file_, O_WRONLY | O_APPEND);
  const off_t before = output.status().st_size;
  try {
    for (const std::string& tick : waiting_) write_all(output.get(), tick);
  } catch (const std::system_error&) {
    // TensorBoard stops reading a file at half a record.
    if (::ftruncate(output.get(), before) != 0) throw last_error();
    throw;
  }
}

}  // namespace loupe::tensorboard
