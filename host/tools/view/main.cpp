// `loupe view`: serves a live page of the runs under some folders.

#include <signal.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <ostream>
#include <sstream>
#include <thread>

#include "command/commands.h"
#include "command/tool.h"
#include "command/usage_error.h"
#include "view/server.h"

namespace loupe {
namespace {

/// While it lives, signals that end the process are blocked and wait for wait(), also in threads that begin meanwhile.
class EndSignals {
 public:
  EndSignals() {
    sigemptyset(&signals_);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&signals_, signal);
    pthread_sigmask(SIG_BLOCK, &signals_, &before_);
  }
  ~EndSignals() { give_back(); }
  EndSignals(const EndSignals&) = delete;
  EndSignals& operator=(const EndSignals&) = delete;

  void wait() const {
    int signal = 0;
    while (sigwait(&signals_, &signal) != 0) {
    }
  }
  /// Unblocks the signals, so that a second one ends the process at once.
  void give_back() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t signals_, before_;
};

/// A thread that updates the list once a second, or at once if there is more to read or a client asks.
class ListUpdater {
 public:
  explicit ListUpdater(view::RunList& list) : thread_([this, &list] { look(list); }) {}
  ~ListUpdater() {
    is_over_ = true;
    thread_.join();
  }
  ListUpdater(const ListUpdater&) = delete;
  ListUpdater& operator=(const ListUpdater&) = delete;

 private:
  void look(view::RunList& list) {
    constexpr int parts_of_a_second = 10;
    while (!is_over_) {
      if (list.look()) continue;
      for (int part = 0; part < parts_of_a_second && !is_over_ && !list.was_asked(); ++part) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1000 / parts_of_a_second));
      }
    }
  }

  std::atomic<bool> is_over_{false};
  std::thread thread_;
};

void check_folder(const std::string& folder) {
  std::error_code error;
  if (std::filesystem::is_directory(folder, error)) return;
  const bool is_there = std::filesystem::exists(folder, error);
  throw UsageError("'" + folder + "' " + (is_there ? "is not a folder" : "does not exist") +
                   "; name a folder with runs in it, such as runs");
}

void serve_runs(const View& command, std::ostream& out, std::ostream& errors) {
  const Catalogue catalogue = standard_catalogue(command.plugins, false, errors);
  for (const std::string& folder : command.folders) check_folder(folder);
  EndSignals signals;
  view::RunList list(command.folders);
  view::ReportStore reports([&catalogue](const std::vector<std::string>& records, const std::string& folder) {
    std::ostringstream told, left_out;  // text for a terminal, discarded: the page shows the findings
    const auto make = [&](auto command) {
      command.visualizers.names = {"html"};
      command.visualizers.out = folder;
      command.visualizers.force = true;
      command.run(catalogue, told, left_out);
    };
    const std::filesystem::path first = records.front();
    if (first.filename() == view::incident_file) return make(Replay{first.parent_path().string(), {}});
    Compare compare;
    compare.records = records;
    make(std::move(compare));
  });
  const view::FindingsOf findings_of = [](const std::string& record) {
    Diagnose diagnose;
    diagnose.records = {record};
    diagnose.as_json = true;
    std::ostringstream rows, left_out;
    diagnose.run(rows, left_out);
    return rows.str();
  };
  view::serve(list, reports, findings_of, {command.address, command.port}, [&](const view::Served& served) {
    if (!command.port && served.port != View::usual_port) {
      errors << "loupe: port " << View::usual_port << " is taken; port " << served.port << " is used instead\n";
    }
    if (served.wants_token) {
      errors << "loupe: warning: everyone with this address and its token can see these runs and write notes, and "
                "nothing is "
                "encrypted; use it only in a network that you trust\n";
    }
    const ListUpdater updater(list);
    out << served.url << "\nCtrl-C ends it.\n" << std::flush;
    signals.wait();
    signals.give_back();
  });
}

}  // namespace
}  // namespace loupe

int main(int count, char** arguments) {
  loupe::View command;
  return loupe::tool_main(
      count, arguments, [&](CLI::App& app) { return command.add_to(app); },
      [&](loupe::Outputs& outputs) { return loupe::serve_runs(command, outputs.wrapped, outputs.errors), 0; });
}
