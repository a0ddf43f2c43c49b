#!/usr/bin/env python3
"""Records the originals of the models that tests/port/nets.cpp ports to C++, with loupe_record.py.

usage: pairs.py FOLDER_OF_LOUPE_RECORD FOLDER MODEL-OPTIMIZER...
       pairs.py FOLDER_OF_LOUPE_RECORD --positions    reads shapes, one per line, and writes the sampled positions

cnn-adam-2.13/ in this folder is from PyTorch 2.13.0, so that the rounding of another version is tested everywhere:
    pairs.py ../../sdk/python . cnn-adam && gzip -9 -n cnn-adam/fingerprint.jsonl && mv cnn-adam cnn-adam-2.13
"""
import math
import pathlib
import sys

import torch
from torch import nn
from torch.nn import functional

sys.path.insert(0, sys.argv[1])
import loupe_record  # noqa: E402


class Mlp(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1, self.act, self.drop = nn.Linear(12, 16), nn.Tanh(), nn.Dropout(0.5)
        self.fc2 = nn.Linear(16, 4)

    def forward(self, x):
        return self.fc2(self.drop(self.act(self.fc1(x))))


class Cnn(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(3, 4, 3, padding=1), nn.BatchNorm2d(4)
        self.act = nn.ReLU(inplace=True)
        self.pool = nn.MaxPool2d(2)
        self.up = nn.Upsample(scale_factor=2, mode="bilinear", align_corners=False)
        self.conv2, self.bn2 = nn.Conv2d(4, 4, 3, bias=False), nn.BatchNorm2d(4)
        self.flatten, self.fc = nn.Flatten(), nn.Linear(4 * 6 * 6, 4)

    def forward(self, x):
        x = self.pool(self.act(self.bn1(self.conv1(x))))
        return self.fc(self.flatten(functional.relu(self.bn2(self.conv2(self.up(x))))))


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1, self.act, self.fc2, self.norm = nn.Linear(12, 12), nn.GELU(), nn.Linear(12, 12), nn.LayerNorm(12)

    def forward(self, x):
        return x + self.norm(self.fc2(self.act(self.fc1(x))))


class Residual(nn.Module):
    def __init__(self):
        super().__init__()
        self.block, self.head = Block(), nn.Linear(12, 4)

    def forward(self, x):
        return self.head(self.block(x))


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm, self.head = nn.LSTM(5, 6, batch_first=True), nn.Linear(6, 4)

    def forward(self, x):
        return self.head(self.lstm(x)[0][:, -1])


class Transformer(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Linear(5, 8)
        self.encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0), 2)
        self.head = nn.Linear(8, 4)

    def forward(self, x):
        return self.head(self.encoder(self.embed(x)).mean(0))


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.act, self.head = nn.Linear(12, 12, bias=False), nn.Tanh(), nn.Linear(12, 12)
        self.head.weight = self.embed.weight

    def forward(self, x):
        return self.head(self.act(self.embed(x)))


MODELS = {"mlp": Mlp, "cnn": Cnn, "residual": Residual, "lstm": Recurrent, "transformer": Transformer, "tied": Tied}
SHAPES = {"mlp": (8, 12), "cnn": (6, 3, 8, 8), "residual": (8, 12), "lstm": (7, 9, 5), "transformer": (9, 7, 5), "tied": (8, 12)}
OPTIMIZERS = {
    "sgd": lambda parameters: torch.optim.SGD(parameters, lr=0.1, momentum=0.9),
    "adam": lambda parameters: torch.optim.Adam(parameters, lr=0.01),
    "adamw": lambda parameters: torch.optim.AdamW(parameters, lr=0.01, weight_decay=0.1),
    "rmsprop": lambda parameters: torch.optim.RMSprop(parameters, lr=0.01),
}


def made(shape, factor, offset, modulus):
    """Numbers from -0.5 to 0.5 that look random, and are the same in every language."""
    indices = torch.arange(math.prod(shape), dtype=torch.int64)
    return (((indices * factor + offset) % modulus).double() / modulus - 0.5).float().reshape(shape)


def initialize(model):
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            values = made(parameter.shape, 7919, sum(name.encode()) * 101, 2003)
            if parameter.dim() > 1:
                parameter.copy_(values * (2 / math.sqrt(parameter.numel() / parameter.shape[0])))
            else:
                parameter.copy_(values * 0.1 + (1 if name.endswith("weight") else 0))


def record(name, folder):
    model_name, _, optimizer_name = name.partition("-")
    model = MODELS[model_name]()
    initialize(model)
    optimizer = OPTIMIZERS[optimizer_name](model.parameters())
    if model_name == "mlp":
        model.drop.eval()
    with loupe_record.watch(model, optimizer, folder / name, steps=3):
        for step in range(3):
            inputs = made(SHAPES[model_name], 6151, step * 3571 + 7, 1009) * 2
            batch = inputs.shape[1 if model_name == "transformer" else 0]
            targets = (torch.arange(batch) * 3 + step) % 4
            optimizer.zero_grad()
            functional.cross_entropy(model(inputs), targets).backward()
            optimizer.step()


if __name__ == "__main__":
    torch.set_num_threads(1)
    if sys.argv[2] == "--positions":
        for line in sys.stdin:
            print(*loupe_record.positions([int(size) for size in line.split()]))
        sys.exit()
    for each in sys.argv[3:]:
        record(each, pathlib.Path(sys.argv[2]))
