// Healthy agents, and models that learn against or together with each other: their losses need not fall and may
// cross 0, and inputs occur repeatedly.

#include <algorithm>
#include <array>
#include <cmath>
#include <deque>

#include "zoo/fit.h"
#include "zoo/models.h"

namespace zoo {
namespace {

/// The observation and the reward that follow an action. When the episode ends, the caller starts a new one.
struct Turn {
  torch::Tensor seen;
  double reward = 0;
  bool ends = false;
};

// The worlds draw from LibTorch's global generator, so that a seed fixes them.

/// Cells in a row, with a wall at the left and the reward at the right. An agent that walks against the wall stays.
class Corridor {
 public:
  static constexpr int64_t cells = 8, actions = 2;
  torch::Tensor begin();
  Turn act(int64_t action);

 private:
  int64_t cell_ = 0;
};

/// A square of cells, with the reward in the corner opposite the start. Each turn costs a little.
class Grid {
 public:
  static constexpr int64_t width = 4, cells = width * width, actions = 4;
  torch::Tensor begin();
  Turn act(int64_t action);

 private:
  int64_t row_ = 0, column_ = 0;
};

/// The pole on a cart that every course on reinforcement learning starts with; an episode has at most 60 turns.
class CartPole {
 public:
  static constexpr int64_t features = 4, actions = 2;
  torch::Tensor begin();
  Turn act(int64_t action);

 private:
  std::array<double, 4> state_ = {};  ///< position, speed, angle, angular speed
  int turns_ = 0;
};

/// A mass on a line that a force in [-1, 1] should bring to 0. The episode never ends.
class PointMass {
 public:
  static constexpr int64_t features = 2;
  torch::Tensor begin();
  Turn act(double force);

 private:
  double position_ = 0, speed_ = 0;
};

torch::Tensor one_hot(int64_t cell, int64_t cells) {
  auto seen = torch::zeros({cells});
  seen[cell] = 1;
  return seen;
}

torch::Tensor as_tensor(const std::array<double, 4>& state) {
  return torch::tensor({state[0], state[1], state[2], state[3]}, torch::kFloat);
}

torch::Tensor Corridor::begin() {
  cell_ = 0;
  return one_hot(cell_, cells);
}

Turn Corridor::act(int64_t action) {
  cell_ = std::max<int64_t>(cell_ + (action == 1 ? 1 : -1), 0);
  const bool arrived = cell_ == cells - 1;
  return {one_hot(cell_, cells), arrived ? 1.0 : 0.0, arrived};
}

torch::Tensor Grid::begin() {
  row_ = column_ = 0;
  return one_hot(0, cells);
}

Turn Grid::act(int64_t action) {
  int64_t& coordinate = action < 2 ? row_ : column_;
  coordinate = std::clamp<int64_t>(coordinate + (action % 2 == 0 ? 1 : -1), 0, width - 1);
  const int64_t cell = row_ * width + column_;
  const bool arrived = cell == cells - 1;
  return {one_hot(cell, cells), arrived ? 1.0 : -0.02, arrived};
}

torch::Tensor CartPole::begin() {
  turns_ = 0;
  for (double& each : state_) each = 0.1 * torch::rand({}).item<double>() - 0.05;
  return as_tensor(state_);
}

Turn CartPole::act(int64_t action) {
  constexpr double gravity = 9.8, cart = 1, pole = 0.1, half_length = 0.5, seconds = 0.02;
  auto& [position, speed, angle, turning] = state_;
  const double force = action == 1 ? 10 : -10;
  const double sine = std::sin(angle), cosine = std::cos(angle);
  const double pushed = (force + pole * half_length * turning * turning * sine) / (cart + pole);
  const double falling =
      (gravity * sine - cosine * pushed) / (half_length * (4.0 / 3 - pole * cosine * cosine / (cart + pole)));
  const double rolling = pushed - pole * half_length * falling * cosine / (cart + pole);
  position += seconds * speed;
  speed += seconds * rolling;
  angle += seconds * turning;
  turning += seconds * falling;
  const bool fell = std::abs(position) > 2.4 || std::abs(angle) > 0.21;
  return {as_tensor(state_), 1, fell || ++turns_ == 60};
}

torch::Tensor PointMass::begin() {
  position_ = 2 * torch::rand({}).item<double>() - 1;
  speed_ = 0;
  return torch::tensor({position_, speed_}, torch::kFloat);
}

Turn PointMass::act(double force) {
  speed_ = 0.9 * speed_ + 0.2 * force;
  position_ = std::clamp(position_ + 0.2 * speed_, -2.0, 2.0);
  return {torch::tensor({position_, speed_}, torch::kFloat), 1 - position_ * position_ - 0.1 * speed_ * speed_, false};
}

struct Transition {
  torch::Tensor seen, action;
  double reward = 0;
  torch::Tensor next;
  bool ends = false;
};

/// Stacked transitions; the scalar values are columns.
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

/// Returns a random action in [-1, 1] and the logarithm of its density.
std::pair<torch::Tensor, torch::Tensor> draw_action(GaussianActor& actor, const torch::Tensor& seen) {
  const auto [mean, log_spread] = actor->forward(seen);
  const auto noise = torch::randn_like(mean);
  const auto action = torch::tanh(mean + log_spread.exp() * noise);
  const auto density = -0.5 * noise.square() - log_spread - 0.919 - torch::log(1 - action.square() + 1e-6);
  return {action, density};
}

/// What several agents did with one policy: one row per turn of an agent.
struct Rollout {
  torch::Tensor seen, actions, log_chances, advantages, returns;
  double reward = 0;
};

/// All agents continue from their current states for some turns; then generalized advantage estimation follows.
Rollout play(ActorCritic& model, std::vector<Corridor>& worlds, torch::Tensor& seen, int64_t turns) {
  constexpr double discount = 0.97, smoothing = 0.95;
  const torch::NoGradGuard no_grad;
  std::vector<torch::Tensor> all_seen, actions, log_chances, values, rewards, goes_on;
  for (int64_t turn = 0; turn < turns; ++turn) {
    const auto [scores, value] = model->forward(seen);
    const auto chances = torch::log_softmax(scores, 1);
    const auto action = torch::multinomial(chances.exp(), 1);
    auto reward = torch::zeros_like(value), lasts = torch::ones_like(value);
    std::vector<torch::Tensor> next;
    for (std::size_t i = 0; i < worlds.size(); ++i) {
      const Turn after = worlds[i].act(action[int64_t(i)].item<int64_t>());
      reward[int64_t(i)] = after.reward;
      if (after.ends) lasts[int64_t(i)] = 0;
      next.push_back(after.ends ? worlds[i].begin() : after.seen);
    }
    all_seen.push_back(seen);
    actions.push_back(action);
    log_chances.push_back(chances.gather(1, action));
    values.push_back(value);
    rewards.push_back(reward);
    goes_on.push_back(lasts);
    seen = torch::stack(next);
  }
  values.push_back(model->forward(seen).second);
  std::vector<torch::Tensor> advantages(turns);
  auto advantage = torch::zeros({int64_t(worlds.size())});
  for (int64_t turn = turns - 1; turn >= 0; --turn) {
    const auto surprise = rewards[turn] + discount * goes_on[turn] * values[turn + 1] - values[turn];
    advantage = surprise + discount * smoothing * goes_on[turn] * advantage;
    advantages[turn] = advantage;
  }
  values.pop_back();
  const auto all = torch::cat(advantages);
  return {torch::cat(all_seen),     torch::cat(actions),
          torch::cat(log_chances),  all,
          all + torch::cat(values), torch::cat(rewards).sum().item<double>()};
}

/// DQN: the targets come from a copy of the net, updated every few steps. Planted: the copy never changes.
void dqn(Run& run, bool is_frozen) {
  Mlp online(Grid::cells, 32, Grid::actions), target(Grid::cells, 32, Grid::actions);
  if (!run.planted) copy_weights(*online, *target);
  if (is_frozen) freeze(*target);
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
      if (turn % 20 == 0) copy_weights(run.planted ? *target : *online, *target);
    }
  }
}

}  // namespace

void add_healthy_agents(Trainers& zoo) {
  zoo.add("still_target", "dqn, target copied", {}, [](Run& run) { dqn(run, /*is_frozen=*/true); });
  zoo.add("still_target", "dqn, target that could learn", {}, [](Run& run) { dqn(run, /*is_frozen=*/false); });
  // SAC: an actor, two critics with one optimizer each, and target critics that follow them slowly.
  zoo.add("", "sac, soft targets", {}, [](Run& run) {
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
        descend(optimizer1, loss1);
        descend(optimizer2, loss2);

        const auto [own_action, own_density] = draw_action(actor, batch.seen);
        const auto own = torch::cat({batch.seen, own_action}, 1);
        const auto actor_loss = (temperature * own_density - torch::min(critic1(own), critic2(own))).mean();
        descend(actor_optimizer, actor_loss);
        blend_weights(*slow1, *critic1, 0.02);
        blend_weights(*slow2, *critic2, 0.02);
        for (const torch::Tensor& loss : {loss1, loss2, actor_loss}) run.inspector.push_loss(loss, /*train=*/true);
      }
    }
  });
  // The discriminator learns at four times the generator's rate.
  zoo.add("", "gan, two time scales", {}, [](Run& run) {
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
        const auto judge_loss = against(judge->forward(batch.inputs), 1) + against(judge->forward(drawn.detach()), 0);
        descend(judge_optimizer, judge_loss);
        const auto maker_loss = against(judge->forward(drawn), 1);
        descend(maker_optimizer, maker_loss);
        run.inspector.push_loss(judge_loss, /*train=*/true);
        run.inspector.push_loss(maker_loss, /*train=*/true);
      }
    }
  });
  // The model predicts a class and a number from the same input; the loss is the sum of both losses.
  zoo.add("", "multi-task, summed loss", {}, [](Run& run) {
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
      for (const Examples& batch : batches(data, 32)) run.learn(optimizer, loss_of(batch));
      model->eval();
      const torch::NoGradGuard no_grad;
      run.validation_loss(loss_of(held_out));
    }
  });
}

void add_healthy_policies(Trainers& zoo) {
  // PPO: several updates use the same rollout, in which most agents first stand at the wall.
  zoo.add("", "ppo, same rollout again", {}, [](Run& run) {
    ActorCritic model(Corridor::cells, 32, Corridor::actions);
    torch::optim::Adam optimizer(model->parameters(), 3e-3);
    run.inspector.attach(*model, optimizer);
    std::vector<Corridor> worlds(8);
    std::vector<torch::Tensor> starts;
    for (Corridor& world : worlds) starts.push_back(world.begin());
    auto seen = torch::stack(starts);
    for ([[maybe_unused]] int epoch : run.inspector.epochs(5)) {
      for (int i = 0; i < 8; ++i) {
        const Rollout rollout = play(model, worlds, seen, 16);
        run.inspector.push_metric("reward", rollout.reward);
        const auto& raw = rollout.advantages;
        const auto advantages = ((raw - raw.mean()) / (raw.std() + 1e-8)).unsqueeze(1);
        for (int pass = 0; pass < 4; ++pass) {
          const auto [scores, values] = model->forward(rollout.seen);
          const auto chances = torch::log_softmax(scores, 1);
          const auto ratio = (chances.gather(1, rollout.actions) - rollout.log_chances).exp();
          const auto gain = torch::min(ratio * advantages, torch::clamp(ratio, 0.8, 1.2) * advantages).mean();
          const auto entropy = -(chances.exp() * chances).sum(1).mean();
          const auto loss = -gain + 0.5 * squared_error(values, rollout.returns) - 0.01 * entropy;
          optimizer.zero_grad();
          loss.backward();
          nn::utils::clip_grad_norm_(model->parameters(), 0.5);
          optimizer.step();
          run.inspector.push_loss(loss, /*train=*/true);
        }
      }
    }
  });
  // REINFORCE: the optimizer takes one step per episode, and the lengths of episodes differ.
  zoo.add("", "policy gradient", {}, [](Run& run) {
    auto model = nn::Sequential(nn::Linear(CartPole::features, 32), nn::Tanh(), nn::Linear(32, CartPole::actions));
    torch::optim::Adam optimizer(model->parameters(), 1e-2);
    run.inspector.attach(*model, optimizer);
    CartPole world;
    for ([[maybe_unused]] int epoch : run.inspector.epochs(5)) {
      for (int episode = 0; episode < 24; ++episode) {
        std::vector<torch::Tensor> all_seen, actions;
        auto seen = world.begin();
        for (bool ends = false; !ends;) {
          const torch::NoGradGuard no_grad;
          all_seen.push_back(seen);
          actions.push_back(torch::multinomial(torch::softmax(model->forward(seen), 0), 1));
          const Turn after = world.act(actions.back().item<int64_t>());
          seen = after.seen;
          ends = after.ends;
        }
        // Each turn earns 1.
        const auto left = torch::arange(int64_t(actions.size()), 0, -1, torch::kFloat);
        const auto returns = (1 - torch::pow(0.98, left)) / (1 - 0.98);
        const auto gains = ((returns - returns.mean()) / (returns.std() + 1e-6)).unsqueeze(1);
        optimizer.zero_grad();
        const auto chances = torch::log_softmax(model->forward(torch::stack(all_seen)), 1);
        const auto loss = -(chances.gather(1, torch::stack(actions)) * gains).mean();
        loss.backward();
        optimizer.step();
        run.inspector.push_loss(loss, /*train=*/true);
        run.inspector.push_metric("turns", double(actions.size()));
      }
    }
  });
  // The model learns from each turn as it comes: the batch is one state, often the same as before.
  zoo.add("", "actor-critic, turn by turn", {}, [](Run& run) {
    ActorCritic model(Corridor::cells, 24, Corridor::actions);
    torch::optim::Adam optimizer(model->parameters(), 2e-3);
    run.inspector.attach(*model, optimizer);
    Corridor world;
    auto seen = world.begin();
    for ([[maybe_unused]] int epoch : run.inspector.epochs(5)) {
      for (int turn = 0; turn < 120; ++turn) {
        const auto [scores, value] = model->forward(seen.unsqueeze(0));
        const auto chances = torch::log_softmax(scores, 1);
        const auto action = torch::multinomial(chances.detach().exp(), 1);
        const Turn after = world.act(action.item<int64_t>());
        auto aim = torch::full({1}, after.reward);
        if (!after.ends) {
          const torch::NoGradGuard no_grad;
          aim += 0.95 * model->forward(after.seen.unsqueeze(0)).second;
        }
        const auto surprise = aim - value;
        const auto entropy = -(chances.exp() * chances).sum();
        const auto loss = (-chances.gather(1, action).squeeze(1) * surprise.detach() + surprise.square()).mean();
        descend(optimizer, loss - 0.01 * entropy);
        run.inspector.push_loss(loss, /*train=*/true);
        run.inspector.push_metric("reward", after.reward);
        seen = after.ends ? world.begin() : after.seen;
      }
    }
  });
}

}  // namespace zoo
