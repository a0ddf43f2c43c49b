#include "services/tensor_file.h"

#include <loupe/files/descriptor.h>
#include <loupe/files/output_path.h>
#include <torch/serialize.h>

#include <cstring>
#include <sstream>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>

#include "torch/tensor/compat.h"

// C++ writes and reads an archive that Python takes for a program, and refuses. Python also reads an older format, from
// the start of a file, and ignores what follows; C++ looks for its archive from the end. So the file is in the older
// format, followed by C++'s archive with moved offsets.

namespace loupe {
namespace {

const char* storage_name(const at::Tensor& tensor) {
  static constexpr std::pair<at::ScalarType, const char*> storages[] = {{at::kFloat, "FloatStorage"},
                                                                        {at::kDouble, "DoubleStorage"},
                                                                        {at::kHalf, "HalfStorage"},
                                                                        {at::kBFloat16, "BFloat16Storage"},
                                                                        {at::kChar, "CharStorage"},
                                                                        {at::kShort, "ShortStorage"},
                                                                        {at::kInt, "IntStorage"},
                                                                        {at::kLong, "LongStorage"},
                                                                        {at::kByte, "ByteStorage"},
                                                                        {at::kBool, "BoolStorage"},
                                                                        {at::kComplexFloat, "ComplexFloatStorage"},
                                                                        {at::kComplexDouble, "ComplexDoubleStorage"}};
  for (const auto& [type, name] : storages) {
    if (type == tensor.scalar_type()) return name;
  }
  throw std::runtime_error(std::string("loupe: a tensor of type ") + c10::toString(tensor.scalar_type()) +
                           " cannot be saved; change its type first");
}

/// Python's pickles, protocol 2, as far as tensors need them.
class Pickle {
 public:
  void begin() { bytes_ += "\x80\x02"; }
  void end() { bytes_ += '.'; }
  void op(const char* code) { bytes_ += code; }
  void text(const std::string& text) {
    bytes_ += 'X';
    raw(static_cast<uint32_t>(text.size()));
    bytes_ += text;
  }
  void global(const std::string& module, const std::string& name) { bytes_ += "c" + module + "\n" + name + "\n"; }
  void integer(int64_t value) {
    bytes_ += "\x8a\x08";
    raw(value);
  }
  void integers(at::IntArrayRef values) {
    op("(");
    for (const int64_t value : values) integer(value);
    op("t");
  }
  template <class T>
  void raw(T value) {
    char data[sizeof value];
    std::memcpy(data, &value, sizeof value);
    bytes_.append(data, sizeof value);
  }
  void append(const void* data, std::size_t size) { bytes_.append(static_cast<const char*>(data), size); }
  void pad(std::size_t multiple) { bytes_.resize((bytes_.size() + multiple - 1) / multiple * multiple, '\0'); }
  std::size_t size() const { return bytes_.size(); }
  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

void write_tensor(Pickle& pickle, const at::Tensor& tensor, const std::string& key) {
  pickle.global("torch._utils", "_rebuild_tensor_v2");
  pickle.op("((");
  pickle.text("storage");
  pickle.global("torch", storage_name(tensor));
  pickle.text(key);
  pickle.text("cpu");
  pickle.integer(tensor.numel());
  pickle.op("NtQ");  // no view of another storage; the tuple identifies it
  pickle.integer(0);
  pickle.integers(tensor.sizes());
  pickle.integers(tensor.strides());
  pickle.op("\x89");  // requires no gradient
  pickle.global("collections", "OrderedDict");
  pickle.op(")RtR");
}

/// Everything that Python reads.
std::string python_part(const std::vector<at::Tensor>& tensors, bool as_list) {
  constexpr int64_t format = 1001;
  Pickle pickle;
  pickle.begin();
  static constexpr char magic[] = "\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19";
  pickle.append(magic, sizeof magic - 1);
  pickle.end();
  pickle.begin();
  pickle.integer(format);
  pickle.end();
  pickle.begin();
  pickle.op("}(");
  pickle.text("protocol_version");
  pickle.integer(format);
  pickle.text("little_endian");
  pickle.op("\x88");
  pickle.text("type_sizes");
  pickle.op("}(");
  for (const auto& [type, size] : {std::pair("short", 2), std::pair("int", 4), std::pair("long", 4)}) {
    pickle.text(type);
    pickle.integer(size);
  }
  pickle.op("uu");
  pickle.end();

  pickle.begin();
  if (as_list) pickle.op("](");
  for (std::size_t i = 0; i < tensors.size(); ++i) write_tensor(pickle, tensors[i], std::to_string(i));
  if (as_list) pickle.op("e");
  pickle.end();
  pickle.begin();
  pickle.op("](");
  for (std::size_t i = 0; i < tensors.size(); ++i) pickle.text(std::to_string(i));
  pickle.op("e");
  pickle.end();
  for (const at::Tensor& tensor : tensors) {
    pickle.raw(tensor.numel());
    if (tensor.numel() > 0) pickle.append(const_data(tensor), tensor.nbytes());
  }
  constexpr std::size_t alignment = 64;  // the alignment of tensors in the archive
  pickle.pad(alignment);
  // Python checks whether this is a tar file, and then whether an archive follows the first block of one.
  constexpr std::size_t tar_block = 512;
  if (pickle.size() == tar_block) pickle.append(std::string(alignment, '\0').data(), alignment);
  return pickle.take();
}

template <class T>
T read(const std::string& bytes, std::size_t at) {
  T value;
  if (at + sizeof value > bytes.size()) throw std::runtime_error("loupe: LibTorch wrote an archive that is cut short");
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

/// Adds to an offset. Returns false if it is all ones: then a 64-bit field holds it.
template <class T>
bool move(std::string& bytes, std::size_t at, uint64_t by) {
  const auto value = read<T>(bytes, at);
  if (value == static_cast<T>(-1)) return false;
  const auto moved = static_cast<T>(value + by);
  if (moved < value || moved == static_cast<T>(-1)) {
    throw std::runtime_error("loupe: the tensors are too large for one file; reduce them before saving");
  }
  std::memcpy(bytes.data() + at, &moved, sizeof moved);
  return true;
}

constexpr std::size_t end_size = 22, locator_size = 20;
constexpr uint32_t end_mark = 0x06054b50, locator_mark = 0x07064b50, entry_mark = 0x02014b50;

/// Makes the offsets of a ZIP archive right for a place `by` bytes into a file.
void move_archive(std::string& zip, uint64_t by) {
  if (zip.size() < end_size || read<uint32_t>(zip, zip.size() - end_size) != end_mark) {
    throw std::runtime_error("loupe: LibTorch wrote an archive of a form that is not known here");
  }
  const std::size_t end = zip.size() - end_size;
  uint64_t directory = read<uint32_t>(zip, end + 16), count = read<uint16_t>(zip, end + 10);
  move<uint32_t>(zip, end + 16, by);
  if (end >= locator_size && read<uint32_t>(zip, end - locator_size) == locator_mark) {
    const auto large_end = read<uint64_t>(zip, end - locator_size + 8);
    count = read<uint64_t>(zip, large_end + 32);
    directory = read<uint64_t>(zip, large_end + 48);
    move<uint64_t>(zip, large_end + 48, by);
    move<uint64_t>(zip, end - locator_size + 8, by);
  }
  for (std::size_t at = directory; count > 0; --count) {
    if (read<uint32_t>(zip, at) != entry_mark) throw std::runtime_error("loupe: LibTorch wrote an unknown archive");
    const std::size_t name = read<uint16_t>(zip, at + 28), extra = read<uint16_t>(zip, at + 30);
    if (!move<uint32_t>(zip, at + 42, by)) {
      const bool large = read<uint32_t>(zip, at + 24) == UINT32_MAX,
                 large_packed = read<uint32_t>(zip, at + 20) == UINT32_MAX;
      std::size_t field = at + 46 + name;
      while (read<uint16_t>(zip, field) != 1) field += 4 + read<uint16_t>(zip, field + 2);
      move<uint64_t>(zip, field + 4 + 8 * (std::size_t{large} + std::size_t{large_packed}), by);
    }
    at += 46 + name + extra + read<uint16_t>(zip, at + 32);
  }
}

}  // namespace

void write_tensors(const std::vector<at::Tensor>& tensors, bool as_list, const std::filesystem::path& file) {
  std::vector<at::Tensor> plain;
  for (const at::Tensor& tensor : tensors) plain.push_back(tensor.detach().cpu().contiguous());
  const std::string python = python_part(plain, as_list);
  std::ostringstream archive;
  if (as_list) {
    torch::save(plain, archive);
  } else {
    torch::save(plain.at(0), archive);
  }
  std::string zip = archive.str();
  move_archive(zip, python.size());

  try {
    const Descriptor output(file, O_WRONLY | O_CREAT | O_TRUNC);
    write_all(output.get(), python);
    write_all(output.get(), zip);
  } catch (const std::system_error& reason) {
    throw std::runtime_error("loupe: cannot write '" + file.string() + "': " + reason_of(reason));
  }
}

}  // namespace loupe
