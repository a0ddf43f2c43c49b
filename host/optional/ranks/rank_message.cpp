#include "ranks/rank_message.h"

#include <loupe/detail/state.h>
#include <loupe/internal/bounds.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <utility>

#include "ranks/merged_ticks.h"

namespace loupe {
namespace {

constexpr uint64_t version = 3;

uint64_t mixed(uint64_t hash, const char* text) {
  for (; text != nullptr && *text != '\0'; ++text) hash = (hash ^ static_cast<unsigned char>(*text)) * 0x100000001b3u;
  return (hash ^ 0xffu) * 0x100000001b3u;
}

int rank_in(StateReader& reader) {
  const uint64_t rank = reader.number();
  if (rank >= static_cast<uint64_t>(most_ranks)) throw Error("it names a rank " + std::to_string(rank), LOUPE_INVALID);
  return static_cast<int>(rank);
}

}  // namespace

uint64_t line_hash(const RowValue& value) {
  // The layer of whole-model plots is empty or equals the tag.
  const bool has_layer = value.layer != nullptr && std::strcmp(value.layer, value.tag) != 0;
  return mixed(mixed(mixed(0xcbf29ce484222325u, value.tag), has_layer ? value.layer : nullptr), value.line);
}

std::string RankMessage::bytes(bool replicas) const {
  const auto goes = [&](const SourceState& source) { return replicas || !source.of_replicas; };
  StateWriter writer;
  writer.number(version);
  writer.number(tick);
  writer.number(ranks.size());
  for (const int rank : ranks) writer.number(static_cast<uint64_t>(rank));
  writer.number(lenses.size());
  for (const LensStates& lens : lenses) {
    writer.text(lens.lens);
    writer.text(lens.unable);
    writer.number(static_cast<uint64_t>(std::count_if(lens.sources.begin(), lens.sources.end(), goes)));
    for (const SourceState& source : lens.sources) {
      if (!goes(source)) continue;
      writer.number(source.key);
      writer.text(source.bytes);
    }
  }
  writer.number(extremes.size());
  for (const auto& [line, each] : extremes) {
    writer.number(line);
    writer.real(each.low);
    writer.real(each.high);
    writer.number(static_cast<uint64_t>(each.low_rank));
    writer.number(static_cast<uint64_t>(each.high_rank));
  }
  writer.number(faults.size());
  for (const auto& [rank, fault] : faults) {
    writer.number(static_cast<uint64_t>(rank));
    writer.text(fault);
  }
  return writer.bytes();
}

RankMessage RankMessage::read(std::string_view bytes) {
  StateReader reader(bytes);
  if (reader.number() != version) throw Error("it is from another version of Loupe", LOUPE_INVALID);
  RankMessage message;
  message.tick = reader.number();
  for (uint64_t left = reader.count(); left > 0; --left) message.ranks.push_back(rank_in(reader));
  for (uint64_t left = reader.count(); left > 0; --left) {
    LensStates& lens = message.lenses.emplace_back();
    lens.lens = reader.text();
    lens.unable = reader.text();
    for (uint64_t sources = reader.count(); sources > 0; --sources) {
      const uint64_t key = reader.number();
      lens.sources.push_back({key, reader.text()});
    }
  }
  for (uint64_t left = reader.count(); left > 0; --left) {
    Extremes& each = message.extremes[reader.number()];
    each.low = reader.real();
    each.high = reader.real();
    each.low_rank = rank_in(reader);
    each.high_rank = rank_in(reader);
  }
  for (uint64_t left = reader.count(); left > 0; --left) {
    const int rank = rank_in(reader);
    message.faults[rank] = reader.text();
  }
  reader.finish();
  return message;
}

void RankMessage::add_values(const HeldTick& held, int rank) {
  each_value(held, [&](const RowValue& value) {
    if (std::isfinite(value.value)) add_extremes({{line_hash(value), {value.value, value.value, rank, rank}}});
  });
}

void RankMessage::add_extremes(const ExtremesByLine& others) {
  for (const auto& [line, other] : others) {
    const auto [own, is_new] = extremes.emplace(line, other);
    if (is_new) continue;
    if (other.low < own->second.low) own->second.low = other.low, own->second.low_rank = other.low_rank;
    if (other.high > own->second.high) own->second.high = other.high, own->second.high_rank = other.high_rank;
  }
}

void RankMessage::add_faults(const std::map<int, std::string>& others) {
  constexpr std::size_t most = 8;  // a full shared disk affects thousands of ranks, and each reports it itself
  for (const auto& [rank, fault] : others) {
    if (faults.size() < most) faults.emplace(rank, fault);
  }
}

void RankMessage::add_furthest_to(HeldTick& tick) const {
  HeldTick added(tick.tick());
  each_value(tick, [&](const RowValue& value) {
    const auto known = extremes.find(line_hash(value));
    if (known == extremes.end() || known->second.low == known->second.high) return;
    const Extremes& each = known->second;
    const bool high = each.high - value.value >= value.value - each.low;
    const std::string line =
        std::string(value.line) + " (rank " + std::to_string(high ? each.high_rank : each.low_rank) + ")";
    const char* const name = line.c_str();
    added.add(loupe_row{.struct_size = sizeof(loupe_row),
                        .tag = value.tag,
                        .layer = value.layer,
                        .value_count = 1,
                        .value_names = &name,
                        .values = high ? &each.high : &each.low});
  });
  take_over(tick, std::move(added));
}

}  // namespace loupe
