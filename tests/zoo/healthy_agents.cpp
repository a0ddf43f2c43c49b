// Agents that learn from what they remember, and models that learn against or beside each other: their losses need not
// fall.

#include <algorithm>
#include <deque>

#include "zoo/fit.h"
#include "zoo/program_models.h"
#include "zoo/trainer.h"
#include "zoo/worlds.h"

namespace zoo {
namespace {

struct Transition {
  torch::Tensor seen, action;
  double reward = 0;
  torch::Tensor next;
  bool ends = false;
};

/// Transitions one above the other, numbers as columns.
struct TransitionBatch {
  torch::Tensor seen, actions, rewards, next, goes_on;
};

TransitionBatch draw(const std::deque<Transition>& memory, int64_t count) {
  std::vector<torch::Tensor> seen, actions, next;
  std::vector<double> rewards, goes_on;
  const auto indices = torch::randint(int64_t(memory.size()), {count}, torch::kLong);
  for (int64_t i = 0; i < count; ++i) {
    const Transition& each = memory[indices[i].item<int64_t>()];
    seen.push_back(each.seen);
    actions.push_back(each.action);
    rewards.push_back(each.reward);
    next.push_back(each.next);
    goes_on.push_back(each.ends ? 0 : 1);
  }
  return {torch::stack(seen), torch::stack(actions), torch::tensor(rewards, torch::kFloat).unsqueeze(1),
          torch::stack(next), torch::tensor(goes_on, torch::kFloat).unsqueeze(1)};
}

/// DQN: the net whose answers are aimed at is a copy, and is copied anew every few steps.
void deep_q_learning(Run& run) {
  Mlp online(Grid::cells, 32, Grid::actions), target(Grid::cells, 32, Grid::actions);
  copy_weights(*online, *target);
  freeze(*target);
  torch::optim::Adam optimizer(online->parameters(), 2e-3);
  run.inspector.attach(*online, optimizer, "online");
  run.inspector.attach(*target, "target");
  Grid world;
  auto seen = world.begin();
  std::deque<Transition> memory;
  const auto act = [&](double curiosity) {
    const torch::NoGradGuard no_grad;
    if (torch::rand({}).item<double>() < curiosity) return torch::randint(Grid::actions, {1}, torch::kLong);
    return online(seen.unsqueeze(0)).argmax(1);
  };
  int turn = 0;
  for ([[maybe_unused]] int epoch : run.inspector.epochs(5)) {
    for (int i = 0; i < 100; ++i) {
      const auto action = act(std::max(0.1, 1 - ++turn / 300.0));
      const Turn after = world.act(action.item<int64_t>());
      run.inspector.push_metric("reward", after.reward);
      memory.push_back({seen, action, after.reward, after.seen, after.ends});
      if (memory.size() > 300) memory.pop_front();
      seen = after.ends ? world.begin() : after.seen;
      if (memory.size() < 64) continue;

      const TransitionBatch batch = draw(memory, 32);
      torch::Tensor aim;
      {
        const torch::NoGradGuard no_grad;
        aim = batch.rewards + 0.95 * batch.goes_on * std::get<0>(target(batch.next).max(1, /*keepdim=*/true));
      }
      optimizer.zero_grad();
      const auto loss = nn::functional::smooth_l1_loss(online(batch.seen).gather(1, batch.actions), aim);
      loss.backward();
      nn::utils::clip_grad_norm_(online->parameters(), 10);
      optimizer.step();
      run.inspector.push_loss(loss, /*train=*/true);
      if (turn % 20 == 0) copy_weights(*online, *target);
    }
  }
}

/// An action in [-1, 1], and the logarithm of its density.
std::pair<torch::Tensor, torch::Tensor> draw_action(GaussianActor& actor, const torch::Tensor& seen) {
  const auto [mean, log_spread] = actor->forward(seen);
  const auto noise = torch::randn_like(mean);
  const auto action = torch::tanh(mean + log_spread.exp() * noise);
  const auto density = -0.5 * noise.square() - log_spread - 0.919 - torch::log(1 - action.square() + 1e-6);
  return {action, density};
}

/// SAC: an actor, two critics with an optimizer each, and critics that follow them slowly.
void soft_actor_critic(Run& run) {
  constexpr double temperature = 0.1;
  GaussianActor actor(PointMass::features, 32, 1);
  Mlp critic1(3, 32, 1), critic2(3, 32, 1), slow1(3, 32, 1), slow2(3, 32, 1);
  copy_weights(*critic1, *slow1);
  copy_weights(*critic2, *slow2);
  torch::optim::Adam actor_optimizer(actor->parameters(), 2e-3);
  torch::optim::Adam optimizer1(critic1->parameters(), 2e-3), optimizer2(critic2->parameters(), 2e-3);
  run.inspector.attach(*actor, actor_optimizer, "actor");
  run.inspector.attach(*critic1, optimizer1, "critic1");
  run.inspector.attach(*critic2, optimizer2, "critic2");
  PointMass world;
  auto seen = world.begin();
  std::deque<Transition> memory;
  int turn = 0;
  for ([[maybe_unused]] int epoch : run.inspector.epochs(5)) {
    for (int i = 0; i < 50; ++i) {
      torch::Tensor action;
      {
        const torch::NoGradGuard no_grad;
        action = draw_action(actor, seen.unsqueeze(0)).first.squeeze(0);
      }
      const Turn after = world.act(action.item<double>());
      run.inspector.push_metric("reward", after.reward);
      memory.push_back({seen, action, after.reward, after.seen, after.ends});
      seen = ++turn % 25 == 0 ? world.begin() : after.seen;
      if (memory.size() < 50) continue;

      const TransitionBatch batch = draw(memory, 32);
      torch::Tensor aim;
      {
        const torch::NoGradGuard no_grad;
        const auto [next_action, density] = draw_action(actor, batch.next);
        const auto next = torch::cat({batch.next, next_action}, 1);
        aim = batch.rewards + 0.95 * batch.goes_on * (torch::min(slow1(next), slow2(next)) - temperature * density);
      }
      const auto taken = torch::cat({batch.seen, batch.actions}, 1);
      const auto loss1 = squared_error(critic1(taken), aim), loss2 = squared_error(critic2(taken), aim);
      optimizer1.zero_grad();
      loss1.backward();
      optimizer1.step();
      optimizer2.zero_grad();
      loss2.backward();
      optimizer2.step();

      const auto [own_action, own_density] = draw_action(actor, batch.seen);
      const auto own = torch::cat({batch.seen, own_action}, 1);
      const auto actor_loss = (temperature * own_density - torch::min(critic1(own), critic2(own))).mean();
      actor_optimizer.zero_grad();
      actor_loss.backward();
      actor_optimizer.step();
      blend_weights(*slow1, *critic1, 0.02);
      blend_weights(*slow2, *critic2, 0.02);
      for (const torch::Tensor& loss : {loss1, loss2, actor_loss}) run.inspector.push_loss(loss, /*train=*/true);
    }
  }
}

/// The discriminator learns at four times the generator's rate.
void gan_of_two_time_scales(Run& run) {
  const auto angle = 6.2832 * torch::rand({960});
  const auto ring = torch::stack({torch::cos(angle), torch::sin(angle)}, 1) + 0.05 * torch::randn({960, 2});
  auto maker = generator(8, 2);
  auto judge = discriminator(2);
  torch::optim::Adam maker_optimizer(maker->parameters(), torch::optim::AdamOptions(5e-4).betas({0.5, 0.999}));
  torch::optim::Adam judge_optimizer(judge->parameters(), torch::optim::AdamOptions(2e-3).betas({0.5, 0.999}));
  run.inspector.attach(*maker, maker_optimizer, "generator");
  run.inspector.attach(*judge, judge_optimizer, "discriminator");
  const auto against = [](const torch::Tensor& logits, double answer) {
    return nn::functional::binary_cross_entropy_with_logits(logits, torch::full_like(logits, answer));
  };
  for ([[maybe_unused]] int epoch : run.inspector.epochs(6)) {
    for (const Examples& batch : batches({ring, angle}, 32)) {
      const auto drawn = maker->forward(torch::randn({batch.inputs.size(0), 8}));
      judge_optimizer.zero_grad();
      const auto judge_loss = against(judge->forward(batch.inputs), 1) + against(judge->forward(drawn.detach()), 0);
      judge_loss.backward();
      judge_optimizer.step();
      maker_optimizer.zero_grad();
      const auto maker_loss = against(judge->forward(drawn), 1);
      maker_loss.backward();
      maker_optimizer.step();
      run.inspector.push_loss(judge_loss, /*train=*/true);
      run.inspector.push_loss(maker_loss, /*train=*/true);
    }
  }
}

/// A class and a number of the same input, and one loss that is the sum.
void two_tasks(Run& run) {
  const Examples all = blobs(1216);
  const auto amounts = torch::sin(all.inputs.select(1, 0)) + all.inputs.select(1, 1) + 0.1 * torch::randn({1216});
  const auto answers = torch::stack({all.answers.to(torch::kFloat), amounts}, 1);
  const Examples data = {all.inputs.slice(0, 0, 960), answers.slice(0, 0, 960)};
  const Examples held_out = {all.inputs.slice(0, 960), answers.slice(0, 960)};
  MultiTask model(16, 32, 4);
  torch::optim::Adam optimizer(model->parameters(), 3e-3);
  run.inspector.attach(*model, optimizer);
  const auto loss_of = [&](const Examples& batch) {
    const auto [scores, amount] = model->forward(batch.inputs);
    return cross_entropy(scores, batch.answers.select(1, 0).to(torch::kLong)) +
           squared_error(amount, batch.answers.slice(1, 1));
  };
  for ([[maybe_unused]] int epoch : run.inspector.epochs(5)) {
    model->train();
    for (const Examples& batch : batches(data, 32)) {
      optimizer.zero_grad();
      const auto loss = loss_of(batch);
      loss.backward();
      optimizer.step();
      run.train_loss(loss);
    }
    model->eval();
    const torch::NoGradGuard no_grad;
    run.validation_loss(loss_of(held_out));
  }
}

}  // namespace

std::vector<Trainer> healthy_agent_trainers() {
  return {
      {"", "dqn, target copied", {}, deep_q_learning},
      {"", "sac, soft targets", {}, soft_actor_critic},
      {"", "gan, two time scales", {}, gan_of_two_time_scales},
      {"", "multi-task, summed loss", {}, two_tasks},
  };
}

}  // namespace zoo
