// A generator learns to draw digits that a discriminator takes for real ones: two models, two optimizers, one
// inspector.

#include <loupe/inspector.h>
#include <torch/torch.h>

#include <cstdio>
#include <exception>

#include "common/arguments.h"
#include "common/data_file.h"
#include "common/digits.h"

namespace nn = torch::nn;

constexpr int64_t noise_size = 32;

struct GeneratorImpl : nn::Module {
  GeneratorImpl()
      : project(noise_size, 64 * 2 * 2),
        norm(64),
        draw(nn::ConvTranspose2d(nn::ConvTranspose2dOptions(64, 32, 4).stride(2).padding(1)), nn::BatchNorm2d(32),
             nn::ReLU(), nn::ConvTranspose2d(nn::ConvTranspose2dOptions(32, 1, 4).stride(2).padding(1)),
             nn::Sigmoid()) {
    register_module("project", project);
    register_module("norm", norm);
    register_module("draw", draw);
  }

  torch::Tensor forward(torch::Tensor noise) {
    return draw->forward(torch::relu(norm(project(noise).view({-1, 64, 2, 2}))));
  }

  nn::Linear project;
  nn::BatchNorm2d norm;
  nn::Sequential draw;
};
TORCH_MODULE(Generator);

struct DiscriminatorImpl : nn::Module {
  DiscriminatorImpl()
      : look(nn::Conv2d(nn::Conv2dOptions(1, 32, 3).stride(2).padding(1)), leaky(),
             nn::Conv2d(nn::Conv2dOptions(32, 64, 3).stride(2).padding(1)), leaky(), nn::Flatten(), nn::Dropout(0.3)),
        judge(64 * 2 * 2, 1) {
    register_module("look", look);
    register_module("judge", judge);
  }

  /// Returns the logit of "this is a real digit", one for each image.
  torch::Tensor forward(torch::Tensor images) { return judge(look->forward(images)).squeeze(1); }

  nn::Sequential look;
  nn::Linear judge;

 private:
  static nn::LeakyReLU leaky() { return nn::LeakyReLU(nn::LeakyReLUOptions().negative_slope(0.2)); }
};
TORCH_MODULE(Discriminator);

torch::Tensor loss_against(const torch::Tensor& logits, double answer) {
  return nn::functional::binary_cross_entropy_with_logits(logits, torch::full_like(logits, answer));
}

/// Prints images side by side as characters.
void print_images(const torch::Tensor& images) {
  constexpr char shades[] = " .:-=+*#%@";
  for (int64_t row = 0; row < 8; ++row) {
    for (int64_t image = 0; image < images.size(0); ++image) {
      for (int64_t column = 0; column < 8; ++column) {
        const char shade = shades[static_cast<int>(images[image][0][row][column].item<float>() * 9.99F)];
        std::printf("%c%c", shade, shade);
      }
      std::printf("  ");
    }
    std::printf("\n");
  }
}

void train(const examples::Arguments& arguments) {
  torch::manual_seed(1);
  const torch::Tensor digits = examples::load_digits(arguments.data).images;

  Generator generator;
  Discriminator discriminator;
  const auto adam = torch::optim::AdamOptions(1e-3).betas({0.5, 0.999});
  torch::optim::Adam generator_optimizer(generator->parameters(), adam);
  torch::optim::Adam discriminator_optimizer(discriminator->parameters(), adam);

  auto inspector = loupe::Inspector::from_yaml(arguments.config);
  inspector.attach(*generator, generator_optimizer, "generator");
  inspector.attach(*discriminator, discriminator_optimizer, "discriminator");

  for (int epoch : inspector.epochs(arguments.epochs)) {
    double generator_sum = 0, discriminator_sum = 0;
    const auto batches = torch::randperm(digits.size(0)).split(64);
    for (const torch::Tensor& batch : batches) {
      const torch::Tensor drawn = generator(torch::randn({batch.size(0), noise_size}));

      discriminator_optimizer.zero_grad();
      // Targets of 0.9 instead of 1 keep the discriminator from becoming too sure.
      const torch::Tensor discriminator_loss = loss_against(discriminator(digits.index_select(0, batch)), 0.9) +
                                               loss_against(discriminator(drawn.detach()), 0);
      discriminator_loss.backward();
      discriminator_optimizer.step();

      generator_optimizer.zero_grad();
      const torch::Tensor generator_loss = loss_against(discriminator(drawn), 1);
      generator_loss.backward();
      generator_optimizer.step();

      inspector.push_metric("discriminator_loss", discriminator_loss.item<double>());
      inspector.push_metric("generator_loss", generator_loss.item<double>());
      discriminator_sum += discriminator_loss.item<double>();
      generator_sum += generator_loss.item<double>();
    }
    const auto count = static_cast<double>(batches.size());
    std::printf("epoch %2d/%d  discriminator loss %.4f  generator loss %.4f\n", epoch, arguments.epochs,
                discriminator_sum / count, generator_sum / count);
    std::fflush(stdout);
  }

  torch::NoGradGuard no_grad;
  generator->eval();
  std::printf("\nwhat the generator draws now:\n");
  print_images(generator(torch::randn({6, noise_size})));
}

int main(int argc, char** argv) {
  const auto arguments = examples::read_arguments(argc, argv, "Learns to draw handwritten digits.",
                                                  {"configs/gan.yaml", 20, ".", examples::digits_file});
  try {
    train(arguments);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
