"""What holds for all functions and records of a room but those that are named."""

import inspect
from collections.abc import Callable
from dataclasses import is_dataclass
from importlib import import_module
from pkgutil import walk_packages
from typing import Any


def switched_on(package: str) -> set[str]:
    """The parameters of a package's functions, classes and methods whose default is True: ``module.function.name``."""
    return {name for module in _modules(package) for name in _of(module, module.__name__.removeprefix(f"{package}."))}


def records(package: str, test: Callable[[Any], bool]) -> set[str]:
    """The data classes of a package that pass a test."""
    every = [value for module in _modules(package) for value in vars(module).values() if inspect.isclass(value)]
    return {
        each.__name__ for each in every if each.__module__.startswith(package) and is_dataclass(each) and test(each)
    }


def changeable(package: str) -> set[str]:
    """The data classes whose fields may be set after they were made."""
    return records(package, lambda each: not each.__dataclass_params__.frozen)


def by_identity(package: str) -> set[str]:
    """The data classes that are not compared by their fields: those that hold a table, whose equality is a table."""
    return records(package, lambda each: not each.__dataclass_params__.eq)


def _modules(package: str) -> list[Any]:
    root = import_module(package)
    names = [package, *(module.name for module in walk_packages(root.__path__, f"{package}."))]
    return list(map(import_module, names))


def _of(holder: Any, where: str) -> list[str]:
    found = []
    for name, value in vars(holder).items():
        value = getattr(value, "__func__", value)
        if getattr(value, "__module__", "") != (holder.__module__ if inspect.isclass(holder) else holder.__name__):
            continue
        if inspect.isclass(value) and not inspect.isclass(holder):
            found += _of(value, f"{where}.{name}")
        if inspect.isfunction(value) and name != "__init__":
            found += [f"{where}.{name}.{each}" for each in _on(value)]
        if inspect.isclass(value):
            found += [f"{where}.{name}.{each}" for each in _on(value.__init__)]
    return found


def _on(function: Any) -> list[str]:
    parameters = inspect.signature(function).parameters.values()
    return [parameter.name for parameter in parameters if parameter.default is True]
