// Agents that learn from what their policy just did: losses cross 0, and inputs come again and again.

#include "zoo/fit.h"
#include "zoo/program_models.h"
#include "zoo/trainer.h"
#include "zoo/worlds.h"

namespace zoo {
namespace {

/// What several agents did with one policy, one row a turn of an agent.
struct Rollout {
  torch::Tensor seen, actions, log_chances, advantages, returns;
  double reward = 0;
};

/// All agents go on from where they are, for some turns, with generalized advantage estimation behind.
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

/// PPO: several updates with the same rollout, in which most agents stand at the wall at first.
void proximal_policy(Run& run) {
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
}

/// REINFORCE: one step of the optimizer an episode, whose length is never the same.
void policy_gradient(Run& run) {
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
}

/// Learns from each turn as it comes: the batch is one state, often the same as before.
void online_actor_critic(Run& run) {
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
      optimizer.zero_grad();
      (loss - 0.01 * entropy).backward();
      optimizer.step();
      run.inspector.push_loss(loss, /*train=*/true);
      run.inspector.push_metric("reward", after.reward);
      seen = after.ends ? world.begin() : after.seen;
    }
  }
}

}  // namespace

std::vector<Trainer> healthy_policy_trainers() {
  return {
      {"", "ppo, same rollout again", {}, proximal_policy},
      {"", "policy gradient", {}, policy_gradient},
      {"", "actor-critic, turn by turn", {}, online_actor_critic},
  };
}

}  // namespace zoo
