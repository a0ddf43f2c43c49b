#include "ranks/states_file.h"

#include <loupe/detail/state.h>
#include <loupe/internal/bounds.h>
#include <loupe/text/number_text.h>

#include <algorithm>
#include <cmath>
#include <istream>
#include <system_error>
#include <utility>

namespace loupe {
namespace {

constexpr uint64_t states_version = 2;
constexpr std::string_view mark = "states of a rank";
constexpr std::size_t head_size = 9;  // the kind, and the size of the payload
constexpr uint64_t most_payload = uint64_t{64} << 20;
// Each module is created again for every lens.
constexpr std::size_t most_modules = 100'000;

std::string frame(char kind, std::string_view payload) {
  StateWriter size;
  size.number(payload.size());
  std::string bytes(1, kind);
  bytes += size.bytes();
  bytes += payload;
  return bytes;
}

std::string_view payload_of(std::string_view frame) {
  return frame.substr(head_size);
}

/// Appends at most this number of bytes: a damaged size may ask for more than the file has.
void read_on(std::istream& input, std::string& text, uint64_t count) {
  constexpr uint64_t piece = uint64_t{1} << 20;
  while (count > 0 && input) {
    const auto wanted = static_cast<std::size_t>(std::min(count, piece));
    const std::size_t before = text.size();
    text.resize(before + wanted);
    input.read(text.data() + before, static_cast<std::streamsize>(wanted));
    const auto got = static_cast<std::size_t>(input.gcount());
    text.resize(before + got);
    count -= got;
  }
}

/// Returns false at the end of the file. Where the last frame is cut off, or too long to be one, `text` holds the
/// beginning of it.
bool read_whole_frame(std::istream& input, std::string& text) {
  text.clear();
  read_on(input, text, head_size);
  if (text.size() < head_size) return false;
  const uint64_t size = StateReader(std::string_view(text).substr(1)).number();
  if (size > most_payload) return false;
  read_on(input, text, size);
  return text.size() - head_size == size;
}

/// Casts a number; throws if the result would differ.
int small_number(StateReader& reader, const char* what) {
  const uint64_t number = reader.number();
  if (number > static_cast<uint64_t>(most_ranks))
    throw Error(std::string(what) + " cannot be " + std::to_string(number), LOUPE_INVALID);
  return static_cast<int>(number);
}

/// Refuses numbers of epochs that no run has: a loop over them would never end.
void check(const loupe_tick& tick) {
  if (!(std::fabs(tick.at.epoch) <= largest_count))
    throw Error("a tick has the invalid epoch " + number_text(tick.at.epoch), LOUPE_INVALID);
  if (static_cast<double>(tick.at.step) > largest_count || static_cast<double>(tick.number) > largest_count)
    throw Error("a tick has an invalid number of steps, more than 2^53", LOUPE_INVALID);
  for (const double seconds : {tick.at.time, tick.at.elapsed}) {
    if (!(seconds >= 0 && seconds <= latest_time))
      throw Error("a tick has the invalid time " + number_text(seconds) + " s", LOUPE_INVALID);
  }
}

RankHeader read_header(std::string_view payload) {
  StateReader reader(payload);
  if (reader.text() != mark) throw Error("it is not a file of a rank's states", LOUPE_INVALID);
  if (const uint64_t number = reader.number(); number != states_version)
    throw Error("it has version " + std::to_string(number) + ", and this Loupe reads version " +
                    std::to_string(states_version) + "; merge with the Loupe that watched the run",
                LOUPE_INVALID);
  RankHeader header;
  header.run = reader.text();
  header.job = reader.text();
  header.rank = small_number(reader, "its rank");
  header.world_size = small_number(reader, "the number of ranks");
  header.start_time = reader.real();
  header.config = reader.text();
  header.config_file = reader.text();
  header.config_folder = reader.text();
  for (uint64_t left = reader.count(); left > 0; --left) header.lenses.push_back(reader.text());
  reader.finish();
  if (header.world_size < 1 || header.rank < 0 || header.rank >= header.world_size)
    throw Error("it belongs to rank " + std::to_string(header.rank) + " of " + std::to_string(header.world_size),
                LOUPE_INVALID);
  return header;
}

ModuleDescription read_module(std::string_view payload) {
  StateReader reader(payload);
  ModuleDescription module;
  for (std::string* text :
       {&module.name, &module.path, &module.model, &module.type, &module.full_type, &module.settings})
    *text = reader.text();
  module.family = static_cast<uint32_t>(reader.number());
  module.flags = static_cast<uint32_t>(reader.number());
  for (uint64_t left = reader.count(); left > 0; --left) {
    ParameterDescription& parameter = module.parameters.emplace_back();
    parameter.name = reader.text();
    parameter.flags = static_cast<uint32_t>(reader.number());
    parameter.numel = static_cast<int64_t>(reader.number());
    for (uint64_t sizes = reader.count(); sizes > 0; --sizes)
      parameter.sizes.push_back(static_cast<int64_t>(reader.number()));
  }
  reader.finish();
  return module;
}

RankTick read_tick(std::string_view payload) {
  StateReader reader(payload);
  RankTick read;
  loupe_tick& tick = read.tick;
  tick.struct_size = sizeof tick;
  tick.at.epoch = reader.real();
  tick.at.step = reader.number();
  tick.number = reader.number();
  tick.reason = static_cast<uint32_t>(reader.number());
  tick.flags = static_cast<uint32_t>(reader.number());
  tick.at.time = reader.real();
  tick.at.elapsed = reader.real();
  check(tick);
  read.message = RankMessage::read(reader.text());
  reader.finish();
  return read;
}

}  // namespace

RankHeader RankHeader::of(const Config& config, const Job& job, double start_time) {
  RankHeader header{config.run_name, job.name,      job.rank, job.world_size, start_time, config.text,
                    config.file,     config.folder, {}};
  for (const ComponentConfig& lens : config.lenses) header.lenses.push_back(lens.name);
  return header;
}

std::string RankHeader::frame() const {
  StateWriter writer;
  writer.text(mark);
  writer.number(states_version);
  writer.text(run);
  writer.text(job);
  writer.number(static_cast<uint64_t>(rank));
  writer.number(static_cast<uint64_t>(world_size));
  writer.real(start_time);
  writer.text(config);
  writer.text(config_file);
  writer.text(config_folder);
  writer.number(lenses.size());
  for (const std::string& lens : lenses) writer.text(lens);
  return loupe::frame('h', writer.bytes());
}

std::string frame_of(const ModuleDescription& module) {
  StateWriter writer;
  for (const std::string* text :
       {&module.name, &module.path, &module.model, &module.type, &module.full_type, &module.settings})
    writer.text(*text);
  writer.number(module.family);
  writer.number(module.flags);
  writer.number(module.parameters.size());
  for (const ParameterDescription& parameter : module.parameters) {
    writer.text(parameter.name);
    writer.number(parameter.flags);
    writer.number(static_cast<uint64_t>(parameter.numel));
    writer.number(parameter.sizes.size());
    for (const int64_t size : parameter.sizes) writer.number(static_cast<uint64_t>(size));
  }
  return frame('m', writer.bytes());
}

std::string frame_of(const loupe_tick& tick, std::string_view message) {
  StateWriter writer;
  writer.real(tick.at.epoch);  // first, for read_old_frame
  writer.number(tick.at.step);
  writer.number(tick.number);
  writer.number(tick.reason);
  writer.number(tick.flags);
  writer.real(tick.at.time);
  writer.real(tick.at.elapsed);
  writer.text(message);
  return frame('t', writer.bytes());
}

bool read_old_frame(std::istream& input, OldLine& line) {
  if (!read_whole_frame(input, line.text)) return false;
  line.closes_epoch = line.text[0] == 't';
  line.epoch.reset();
  line.stands_alone = false;
  if (line.closes_epoch) line.epoch = StateReader(payload_of(line.text)).real();
  return true;
}

std::filesystem::path states_file_of(std::filesystem::path record) {
  if (is_compressed_name(record)) record.replace_extension();
  return record.replace_extension(".states.gz");
}

StatesReader::StatesReader(const std::filesystem::path& file) : file_(file.string()) {
  try {
    input_ = std::make_unique<TextInput>(file);
  } catch (const std::system_error& reason) {
    throw Error("'" + file_ + "' cannot be read: " + reason.code().message());
  } catch (const Error& reason) {
    throw Error("'" + file_ + "' cannot be read: " + reason.what());
  }
  if (!read_frame() || frame_[0] != 'h')
    throw Error("'" + file_ + "' cannot be read: " +
                (input_->is_cut_off() ? "it was cut off before its first tick"
                 : input_->bad()      ? input_->fault()
                                      : std::string("it is not a file of a rank's states")));
  try {
    header_ = read_header(payload_of(frame_));
  } catch (const Error& e) {
    throw Error("'" + file_ + "' cannot be read: " + e.what());
  }
  next();
}

/// False at the end of the file, or at a fault, which fault_ then explains.
bool StatesReader::read_frame() {
  if (read_whole_frame(*input_, frame_)) return true;
  const std::string epochs = has_tick_ ? "the data after epoch " + number_text(tick_.tick.at.epoch) : "all its data";
  const bool is_damaged = frame_.size() == head_size && !input_->eof();  // a frame that is too long
  if (is_damaged && !input_->bad()) {
    fault_ = "'" + file_ + "' is damaged, and " + epochs + " is left out: a part of it is longer than 64 MB";
  } else if (input_->is_cut_off() || (!input_->bad() && !frame_.empty())) {
    fault_ = "'" + file_ + "' ends within a tick that was cut off, which is left out";
  } else if (input_->bad()) {
    fault_ = "'" + file_ + "' is damaged, and " + epochs + " is left out: " + input_->fault();
  }
  return false;
}

void StatesReader::next() {
  while (fault_.empty() && read_frame()) {
    try {
      if (frame_[0] == 'm' && ++module_count_ > most_modules)
        throw Error("it has more than " + std::to_string(most_modules) + " modules");
      if (frame_[0] == 'm') modules_.push_back(read_module(payload_of(frame_)));
      if (frame_[0] != 't') continue;
      tick_ = read_tick(payload_of(frame_));
      has_tick_ = true;
      return;
    } catch (const std::exception& e) {
      fault_ = "'" + file_ + "' is damaged, and the rest is left out: " + e.what();
    }
  }
  has_tick_ = false;
}

}  // namespace loupe
