"""Writes fingerprints of a PyTorch model's first steps, with which `loupe compare --port` compares a C++ port.

    import loupe_record

    with loupe_record.watch(model, optimizer, "runs/python", steps=3):
        train(model, optimizer)    # as usual: the first three steps of the optimizer are recorded

The file is runs/python/fingerprint.jsonl; loupe/files/fingerprint.h describes its content, and the lens `fingerprint`
writes the same for a C++ program. Needs only PyTorch 1.13 or later. Records a forward when a module is called, as in
model(x), and a loss when backward() is called on one element.
"""
import contextlib
import functools
import inspect
import itertools
import json
import math
import os
import pathlib
import types
import warnings

import torch

FORMAT = 1
MOST_POSITIONS, MOST_SUMS = 64, 64


def positions(shape):
    """The row-major offsets of the elements of a tensor of that shape that are compared."""
    numel = math.prod(shape)
    if numel <= MOST_POSITIONS:
        return list(range(numel))
    strides = [math.prod(shape[d + 1 :]) for d in range(len(shape))]
    found = {0: None}  # a set that keeps its order
    for size, stride in zip(shape, strides):
        for i in range(1, min(4, size)):
            found[i * stride] = None
    dims = range(len(shape))
    for group in range(MOST_POSITIONS):
        for order in itertools.permutations(dims) if len(shape) <= 4 else [tuple(dims)]:
            hashes = [(group * 8 + which + 1) * 2654435761 & 0xFFFFFFFF for which in order]
            found[sum((hash_ * size >> 32) * stride for hash_, size, stride in zip(hashes, shape, strides))] = None
    return list(found)[:MOST_POSITIONS]


def number(value):
    """A number as JSON; for numbers that JSON lacks, their names."""
    value = float(value)
    if math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def summary(tensor, dtype=None):
    """The numbers in a line of the kind `tensor`."""
    tensor = tensor.detach()
    if tensor.layout != torch.strided:
        tensor = tensor.to_dense()
    if tensor.is_quantized:
        tensor = tensor.dequantize()
    shape = list(tensor.shape)
    wide = (tensor.real if tensor.is_complex() else tensor).to("cpu", torch.float64).contiguous()
    finite = torch.isfinite(wide)
    known = torch.where(finite, wide, torch.zeros_like(wide))
    some = wide[finite]
    sums = []
    for d, size in enumerate(shape if len(shape) > 1 else []):
        others = [other for other in range(len(shape)) if other != d]
        sums.append(known.sum(dim=others).tolist() if 2 <= size <= MOST_SUMS else [])
    return {
        "shape": shape,
        "dtype": str(dtype or tensor.dtype).replace("torch.", ""),
        "non_finite": wide.numel() - some.numel(),
        "sum": known.sum().item(),
        "sum_squares": (known * known).sum().item(),
        "minimum": some.min().item() if some.numel() else 0.0,
        "maximum": some.max().item() if some.numel() else 0.0,
        "values": [number(value) for value in wide.flatten()[positions(shape)].tolist()],
        "sums": sums,
    }


def tensors_in(value):
    """The tensors among a module's arguments or results, in order."""
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, dict):
        for each in value.values():
            yield from tensors_in(each)
    elif isinstance(value, (tuple, list)):
        for each in value:
            yield from tensors_in(each)


def settings_of(module):
    """The settings that the module prints, and further ones that explain why two upsamplings or attentions differ."""
    text = module.extra_repr().replace("\n", " ")
    if hasattr(module, "align_corners"):
        text += (", " if text else "") + f"align_corners={bool(module.align_corners)}"
    if isinstance(module, torch.nn.MultiheadAttention):
        text += (", " if text else "") + f"num_heads={module.num_heads}"
    return text


def optimizer_settings(group):
    """The settings of a parameter group, with the same names as in the lens."""
    told = {}
    for name in ("lr", "momentum", "dampening", "nesterov", "alpha", "eps", "weight_decay", "amsgrad", "centered"):
        if name in group:
            value = group[name]
            told[name] = value if isinstance(value, bool) else number(value)
    if "betas" in group:
        told["beta1"], told["beta2"] = (number(beta) for beta in group["betas"])
    return told


class Recorder:
    """Collects the lines of one run; its hooks and wrappers remain until `close`."""

    def __init__(self, model, optimizers, file, steps):
        self.model, self.optimizers, self.file, self.steps = model, optimizers, file, steps
        self.step, self.calls, self.lines = 1, {}, []
        self.has_begun, self.is_open = False, True
        self.undo = contextlib.ExitStack()
        told = {"format": FORMAT, "language": "Python", "libtorch": torch.__version__}
        self.line(kind="fingerprint", **told, model=type(model).__name__, steps=steps)
        for name, module in model.named_modules():
            told = {"name": name, "type": type(module).__name__, "settings": settings_of(module), "functional": False}
            self.line(kind="module", **told)
            self.watch_module(name, module)
        for which, optimizer in enumerate(optimizers):
            self.watch_optimizer(which, optimizer)
        self.watch_backward()

    def line(self, **members):
        self.lines.append(json.dumps(members, allow_nan=False, separators=(",", ":")))

    def tensor(self, what, module, tensor, name="", index=0, call=0, training=True, dtype=None):
        self.line(
            kind="tensor",
            step=self.step,
            what=what,
            module=module,
            name=name,
            index=index,
            call=call,
            training=training,
            **summary(tensor, dtype),
        )

    def next_call(self, what, module):
        """How often this was seen before in this step."""
        self.calls[what, module] = self.calls.get((what, module), -1) + 1
        return self.calls[what, module]

    def watch_module(self, name, module):
        def entered(module, arguments, named=None):
            if not self.is_open:
                return
            self.begin()
            call = self.next_call("forward", name)
            for index, tensor in enumerate(tensors_in((arguments, named or {}))):
                self.tensor("input", name, tensor, index=index, call=call, training=module.training)

        def left(module, _, result):
            if not self.is_open or ("forward", name) not in self.calls:
                return
            call = self.calls["forward", name]
            for index, tensor in enumerate(tensors_in(result)):
                self.tensor("output", name, tensor, index=index, call=call, training=module.training)
                if index == 0 and tensor.grad_fn is not None:
                    self.watch_gradient(name, module, tensor)

        # In PyTorch 1.13, hooks get no keyword arguments.
        parameters = inspect.signature(module.register_forward_pre_hook).parameters
        by_name = {"with_kwargs": True} if "with_kwargs" in parameters else {}
        self.undo.callback(module.register_forward_pre_hook(entered, **by_name).remove)
        self.undo.callback(module.register_forward_hook(left).remove)

    def watch_gradient(self, name, module, tensor):
        """Hooks the operation that computed the tensor: the tensor's own hooks may move if it is later changed in place."""
        which = tensor.output_nr

        def told(_, gradients):
            if self.is_open and gradients[which] is not None:
                call = self.next_call("backward", name)
                self.tensor("output_gradient", name, gradients[which], call=call, training=module.training)

        tensor.grad_fn.register_hook(told)

    def watch_backward(self):
        backward = torch.autograd.backward

        def told(tensors, *arguments, **named):
            only = list(tensors_in(tensors))
            if self.is_open and len(only) == 1 and only[0].numel() == 1:
                self.begin()
                self.tensor("loss", "", only[0], call=self.next_call("loss", ""), training=self.model.training)
            return backward(tensors, *arguments, **named)

        torch.autograd.backward = told
        self.undo.callback(setattr, torch.autograd, "backward", backward)

    def watch_optimizer(self, which, optimizer):
        step, patched = optimizer.step, optimizer.__dict__.get("step")

        @functools.wraps(step)  # copies the attributes by which schedulers recognize it
        def told(_, *arguments, **named):
            if not self.is_open:
                return step(*arguments, **named)
            self.begin()
            held = {id(parameter) for group in optimizer.param_groups for parameter in group["params"]}
            own = [each for each in self.parameters() if id(each[2]) in held]
            before = [parameter.detach().clone() for _, _, parameter in own]
            for module, name, parameter in own:
                if parameter.grad is not None:
                    self.tensor("gradient", module, parameter.grad, name=name)
            result = step(*arguments, **named)
            kind = type(optimizer).__name__
            if kind == "Adam" and optimizer.param_groups[0].get("decoupled_weight_decay"):
                kind = "AdamW"
            for i, group in enumerate(optimizer.param_groups):
                place = {"step": self.step, "optimizer": which, "type": kind, "group": i}
                self.line(kind="optimizer", **place, **optimizer_settings(group))
            for (module, name, parameter), old in zip(own, before):
                change = parameter.detach().double() - old.double()
                self.tensor("update", module, change, name=name, dtype=parameter.dtype)
            self.buffers()
            if which == 0:
                self.end_step()
            return result

        def restore():
            # Do not remove a wrapper that a scheduler has added meanwhile.
            if optimizer.__dict__.get("step") is own_step:
                optimizer.__dict__.pop("step") if patched is None else setattr(optimizer, "step", patched)

        optimizer.step = own_step = types.MethodType(told, optimizer)  # schedulers expect a method
        self.undo.callback(restore)

    def parameters(self):
        for module_name, module in self.model.named_modules():
            for name, parameter in module.named_parameters(recurse=False):
                yield module_name, name, parameter

    def buffers(self):
        for module_name, module in self.model.named_modules():
            for name, buffer in module.named_buffers(recurse=False):
                self.tensor("buffer", module_name, buffer, name=name, training=module.training)

    def begin(self):
        """Called before the first event, when all weights are loaded."""
        if self.has_begun:
            return
        self.has_begun, self.step = True, 0
        for module, name, parameter in self.parameters():
            self.tensor("parameter", module, parameter, name=name)
        self.buffers()
        self.step = 1

    def end_step(self):
        self.write()
        self.calls.clear()
        self.step += 1
        if self.step > self.steps:
            self.close()

    def write(self):
        self.file.parent.mkdir(parents=True, exist_ok=True)
        unfinished = self.file.with_name("." + self.file.name + ".unfinished")
        unfinished.write_text("\n".join(self.lines) + "\n", encoding="utf-8")
        os.replace(unfinished, self.file)

    def close(self):
        self.is_open = False
        self.undo.close()


@contextlib.contextmanager
def watch(model, optimizer, folder, steps=3):
    """Writes the first `steps` steps of its block to `folder`/fingerprint.jsonl, replacing that file.

    `optimizer` may be a list; then only the steps of the first one are counted. Only one block at a time.
    """
    optimizers = list(optimizer) if isinstance(optimizer, (list, tuple)) else [optimizer]
    recorder = Recorder(model, optimizers, pathlib.Path(folder) / "fingerprint.jsonl", steps)
    try:
        yield recorder
    finally:
        recorder.close()
        if recorder.step <= steps:
            recorder.write()
            warnings.warn(
                f"only {recorder.step - 1} of {steps} steps were taken, so '{recorder.file}' is incomplete; does the"
                " block step the optimizer that was given to watch()?"
            )
