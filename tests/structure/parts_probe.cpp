// A program that opens parts of the host as the host itself does: parts_probe WHAT [PART]. parts_test.cpp checks its
// output.

#include <loupe/inspector.h>
#include <sys/wait.h>
#include <torch/torch.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/own_code.h"
#include "core/part.h"

namespace {

using loupe::Part;

const std::map<std::string, Part> parts = {{"run", Part::run},           {"script", Part::script},
                                           {"timing", Part::timing},     {"ranks", Part::ranks},
                                           {"services", Part::services}, {"lines", Part::lines}};
Part asked;

const void* table() {
  return loupe::table_of(asked, "nothing is done");
}
void print(const char* text) {
  std::puts(text);
  std::fflush(stdout);
}

void opens() {
  if (table() != nullptr) print("opened before it may");
  loupe::look_for_parts();
  if (loupe::opened_table(asked) != nullptr) print("open before it is needed");
  const void* const first = table();
  if (first == nullptr) return print("no table");
  if (table() != first || loupe::opened_table(asked) != first) print("another table");
  print(loupe::is_own(first) ? "opened" : "not Loupe's own");
}

void opens_on_threads() {
  loupe::look_for_parts();
  std::array<const void*, 16> tables{};
  std::atomic<bool> begin{false};
  std::vector<std::thread> threads;
  for (const void*& each : tables) {
    threads.emplace_back([&] {
      while (!begin) std::this_thread::yield();
      each = table();
    });
  }
  begin = true;
  for (std::thread& each : threads) each.join();
  for (const void* each : tables) {
    if (each != tables.front()) return print("another table");
  }
  print(tables.front() != nullptr ? "opened" : "no table");
}

void opens_in_child() {
  loupe::look_for_parts();
  const pid_t child = ::fork();
  if (child == 0) {
    print(table() != nullptr ? "opened in the child" : "no table in the child");
    std::_Exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  print(status == 0 && table() != nullptr ? "opened" : "no table");
}

void fails_in_parent_and_child() {
  loupe::look_for_parts();
  table();
  const pid_t child = ::fork();
  if (child == 0) {
    table();
    std::_Exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
}

void opens_as_process_exits() {
  loupe::look_for_parts();
  std::atexit([] { print(table() != nullptr ? "opened" : "no table"); });
}

void asks_after_the_end() {
  loupe::look_for_parts();
  loupe::open_no_more_parts();
  print(table() != nullptr ? "opened" : "no table");
}

/// Trains a layer that returns NaN, which is a finding; prints whether the part is open and whether the place is known.
void trains() {
  auto inspector = loupe::Inspector::from_text("attach: {summary: false}\nlenses: [health]\n");
  torch::nn::Sequential model(torch::nn::Linear(4, 4), torch::nn::ReLU(), torch::nn::Linear(4, 2));
  torch::optim::SGD optimizer(model->parameters(), 0.1);
  inspector.attach(*model, optimizer);
  for ([[maybe_unused]] int epoch : inspector.epochs(3)) {
    for (int i = 0; i < 4; ++i) {
      optimizer.zero_grad();
      model->forward(torch::full({2, 4}, NAN)).sum().backward();
      optimizer.step();
    }
  }
  print(loupe::opened_table(asked) != nullptr ? "it is open" : "it is not open");
  for (const loupe::Finding& each : inspector.findings()) {
    if (!each.file.empty()) return print(("place in " + each.file).c_str());
  }
  print(inspector.findings().empty() ? "no finding" : "no place");
}

/// Trains a healthy model for some steps.
void train(loupe::Inspector& inspector) {
  torch::nn::Sequential model(torch::nn::Linear(4, 4), torch::nn::ReLU(), torch::nn::Linear(4, 2));
  torch::optim::SGD optimizer(model->parameters(), 0.01);
  inspector.attach(*model, optimizer);
  for ([[maybe_unused]] int epoch : inspector.epochs(2)) {
    for (int i = 0; i < 4; ++i) {
      optimizer.zero_grad();
      model->forward(torch::randn({8, 4})).sum().backward();
      optimizer.step();
    }
  }
}

loupe::Inspector usual_inspector() {
  return loupe::Inspector::from_text(
      "attach: {summary: false}\nranks: {timeout: 60}\nrun: {name: r, dir: r}\nlenses: [output_norm]\n"
      "visualizers: [record]\n");
}

/// Trains as a single process, or as one of several if RANK and WORLD_SIZE are set.
void trains_as_usual() {
  loupe::Inspector inspector = usual_inspector();
  train(inspector);
  std::ifstream maps("/proc/self/maps");
  std::set<std::string> opened;
  for (std::string line; std::getline(maps, line);) {
    if (const auto at = line.find("/loupe/optional/"); at != std::string::npos) opened.insert(line.substr(at));
  }
  for (const std::string& each : opened) print(each.c_str());
}

void forks_once_it_has_joined() {
  loupe::Inspector inspector = usual_inspector();
  const pid_t child = ::fork();
  if (child == 0) {
    { const loupe::Inspector left = std::move(inspector); }
    print("the child is done");
    std::exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  train(inspector);
  print(status == 0 ? "the child has ended" : "the child has failed");
}

const std::map<std::string, std::function<void()>> deeds = {{"opens", &opens},
                                                            {"opens_on_threads", &opens_on_threads},
                                                            {"opens_in_child", &opens_in_child},
                                                            {"fails_in_parent_and_child", &fails_in_parent_and_child},
                                                            {"opens_as_process_exits", &opens_as_process_exits},
                                                            {"asks_after_the_end", &asks_after_the_end},
                                                            {"trains", &trains},
                                                            {"trains_as_usual", &trains_as_usual},
                                                            {"forks_once_it_has_joined", &forks_once_it_has_joined}};

}  // namespace

int main(int count, char** arguments) {
  if (count > 2) asked = parts.at(arguments[2]);
  deeds.at(arguments[1])();
}
