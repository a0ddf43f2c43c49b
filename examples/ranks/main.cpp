// Learns to read handwritten digits in several processes, which average their gradients by hand. Each is a rank:
//   RANK=0 WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT=29500 ranks &
//   RANK=1 WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT=29500 ranks
// torchrun, mpirun and srun start them this way, and so does demo.sh beside this file.

#include <loupe/inspector.h>

#include <cstdio>
#include <exception>
#include <filesystem>

#include "common/arguments.h"
#include "common/data_file.h"
#include "ranks/plants.h"

using namespace examples;

/// The plant called `name`; has no trainer if there is none.
Plant plant_named(const std::string& name) {
  if (name == "none") return plant<Trainer>("none", "nothing");
  for (const auto& plants : {faults(), healthy_twins()}) {
    for (const Plant& each : plants) {
      if (each.name == name) return each;
    }
  }
  return {};
}

void list_plants(std::FILE* file) {
  std::fprintf(file, "faults, as --plant NAME takes them:\n");
  for (const Plant& each : faults()) std::fprintf(file, "  %-17s %s\n", each.name.c_str(), each.about.c_str());
  std::fprintf(file, "healthy, though each looks like a fault:\n");
  for (const Plant& each : healthy_twins()) {
    std::fprintf(file, "  %-17s %s (not %s)\n", each.name.c_str(), each.about.c_str(), each.twin_of.c_str());
  }
}

int main(int argc, char** argv) {
  std::string plant_name = "none", store;
  const auto started_in = std::filesystem::current_path();
  const auto add_options = [&](CLI::App& app) {
    app.add_option("--plant", plant_name, "what is different from a healthy trainer; 'list' says what there is");
    app.add_option("--store", store, "a new file that all ranks see, to meet in where there is no MASTER_ADDR");
  };
  const Arguments arguments =
      read_arguments(argc, argv, "Learns to read handwritten digits in several processes.",
                     {"examples/ranks/monitor.yaml", 6, ".", examples::digits_file}, add_options);
  if (!store.empty()) store = (started_in / store).string();
  Place place;
  try {
    place = place_from_environment();
    if (plant_name == "list") {
      list_plants(stdout);
      return 0;
    }
    const Plant plant = plant_named(plant_name);
    if (!plant.trainer) {
      if (place.rank == 0) {
        std::fprintf(stderr, "there is no plant '%s'\n", plant_name.c_str());
        list_plants(stderr);
      }
      return 2;
    }
    Group group(place, store);
    const auto trainer = plant.trainer(group, arguments.data);
    {
      auto inspector = loupe::Inspector::from_yaml(arguments.config);
      trainer->train(inspector, arguments.epochs);
    }
    group.wait();  // rank 0, which may serve the meeting point, leaves last
  } catch (const c10::Error& error) {
    std::fprintf(stderr, "rank %d: %s\n", place.rank, error.what_without_backtrace());
    return 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "rank %d: %s\n", place.rank, error.what());
    return 1;
  }
  return 0;
}
