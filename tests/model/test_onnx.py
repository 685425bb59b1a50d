"""ONNX Runtime is imported when it is needed, and Ctrl-C at that moment is Ctrl-C."""

import builtins
import sys
from typing import Any

import pytest

from hexatagger.model.onnx import runtime


@pytest.mark.parametrize(("cause", "raised"), [(KeyboardInterrupt(), KeyboardInterrupt), (None, ImportError)])
def test_an_interrupt_while_it_is_imported(
    cause: BaseException | None, raised: type[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    real = builtins.__import__

    def interrupted(name: str, *rest: Any, **options: Any) -> Any:
        if name == "onnxruntime":
            raise ImportError("initialization failed") from cause
        return real(name, *rest, **options)

    monkeypatch.delitem(sys.modules, "onnxruntime", raising=False)
    monkeypatch.setattr(builtins, "__import__", interrupted)
    with pytest.raises(raised):
        runtime()
