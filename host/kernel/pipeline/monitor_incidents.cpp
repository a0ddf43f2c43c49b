// The incidents of a monitor: the last steps before a fault, which a lens keeps and writes.

#include <loupe/detail/option_values.h>
#include <loupe/detail/whole.h>
#include <loupe/options.h>
#include <loupe/text/words.h>

#include <algorithm>
#include <exception>
#include <memory>
#include <string>
#include <utility>

#include "core/locks.h"
#include "core/log.h"
#include "core/text.h"
#include "loupe/error.h"
#include "pipeline/monitor.h"

namespace loupe {

void Monitor::keep_incidents() try {
  if (incident_lens_ != nullptr || !has_lenses_) return;
  const auto keeps = [](const auto& lens) { return lens != nullptr && lens->keeps_incidents(); };
  if (const auto named = std::find_if(lenses_.begin(), lenses_.end(), keeps); named != lenses_.end())
    return void(incident_lens_ = named->get());
  Strings severities = {"error"};
  if (config_.on_warning == "dump") severities.emplace_back("warning");
  if (config_.on_info == "dump") severities.emplace_back("info");
  const OptionValues options = {
      {"most", config_.incidents}, {"tensors", config_.incident_tensors}, {"severities", severities}};
  const auto lens = options.lend([&](const loupe_options* given) { return config_.lens_of_host("incidents", given); });
  if (lens) own_lens_ = std::make_unique<LensNode>(*lens, config_.catalogue, false, *this);
  if (!keeps(own_lens_))
    throw Error("the plugin 'incidents' is missing; install it beside the others, or set 'incidents: 0' under run");
  begin(*own_lens_);
  incident_lens_ = own_lens_.get();
} catch (const std::exception& e) {
  own_lens_.reset();
  log(LOUPE_LOG_WARNING, std::string("the last steps before a fault are not saved: ") + e.what());
}

void Monitor::write_due_incident() {
  const auto due = std::move(due_);
  if (!due) return;
  write_incident("finding", message_with_place(due->get()), &due->get());
  if (keeper_) keeper_->tell_incident(due->get().rule + (" at step " + std::to_string(step_)));
  show_messages();
}

std::string Monitor::write_incident(const std::string& how, const std::string& why, const loupe_finding* finding) try {
  if (incident_lens_ == nullptr) return "";
  claim_folder();
  const auto optimizers = host_->optimizers();
  const auto findings = findings_.all();
  const std::string folder = incident_lens_->write(
      {.struct_size = sizeof(loupe_draft_incident),
       .how = how.c_str(),
       .why = why.c_str(),
       .finding = finding,
       .at = moment(epoch_at_hand()),
       .optimizers = optimizers.data(),
       .findings = findings.data(),
       .optimizer_count = optimizers.size(),
       .finding_count = findings.size(),
       .context = this,
       .hold = [](void* self, const loupe_module* module, loupe_draft_while_held call, void* context) {
         return detail::guarded(nullptr, [&]() -> loupe_status {
           const auto lock = lock_soon(static_cast<Monitor*>(self)->modules_.node_of(module).mutex());
           if (lock.owns_lock()) call(context);
           return lock.owns_lock() ? LOUPE_OK : LOUPE_NOT_FOUND;
         });
       }});
  if (folder.empty()) return "";
  const std::string cause_in_words = finding != nullptr ? "the finding '" + std::string(finding->rule) + "'"
                                     : how == "rank"    ? why
                                                        : how;
  const std::string saved = "the last steps before " + cause_in_words + " were saved: loupe replay " + folder;
  log(LOUPE_LOG_INFO, saved);
  note(LOUPE_NOTE_INCIDENT, saved + " (as a page with --visualizer html --out FOLDER)",
       finding != nullptr ? finding->id : 0);
  return folder;
} catch (const std::exception& e) {
  log(LOUPE_LOG_WARNING, std::string("an incident cannot be written into run.dir: ") + e.what() +
                             "; check disk space and permissions, or set 'incidents: 0' under run");
  return "";
}

std::string Monitor::dump(const std::string& why) {
  if (!has_own_folder()) {
    log(LOUPE_LOG_WARNING, "dump(\"" + why +
                               "\") writes nothing, because the run has no folder; give it one in the configuration: "
                               "run: {dir: runs/NAME}");
    return "";
  }
  keep_incidents();
  return write_incident("dump", utf8(why));
}

}  // namespace loupe
