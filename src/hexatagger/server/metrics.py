"""Counters of the service as Prometheus reads them: https://prometheus.io/docs/instrumenting/exposition_formats/.

Written by hand: three kinds of number and one format of text do not need a package. Every process counts for itself;
where there are several, `worker` tells them apart.
"""

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
REQUESTS = (1, 2, 4, 8, 16, 32, 64, 128)

_HELP = {
    "hexatagger_requests_total": "Requests by address and status.",
    "hexatagger_request_seconds": "Time from the first byte of a request for a parse to its answer.",
    "hexatagger_batch_requests": "Requests that shared one call of the parser.",
    "hexatagger_sentences_total": "Sentences parsed.",
    "hexatagger_words_total": "Words parsed.",
    "hexatagger_waiting_requests": "Requests that wait for the parser or are in it.",
}

Labels = tuple[tuple[str, str], ...]


@dataclass(slots=True)
class _Histogram:
    bounds: Sequence[float]
    counts: list[int]
    total: float = 0.0


@dataclass(slots=True)
class Metrics:
    """All counters of one process; safe to use from several threads.

    >>> metrics = Metrics()
    >>> metrics.count("hexatagger_words_total", 3, model="en")
    >>> print(metrics.text())
    # HELP hexatagger_words_total Words parsed.
    # TYPE hexatagger_words_total counter
    hexatagger_words_total{model="en"} 3
    <BLANKLINE>
    """

    labels: Mapping[str, str] = field(default_factory=dict)
    """Labels of every line."""
    _counters: dict[str, dict[Labels, float]] = field(default_factory=dict)
    _histograms: dict[str, dict[Labels, _Histogram]] = field(default_factory=dict)
    _gauges: dict[str, dict[Labels, Callable[[], float]]] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def count(self, name: str, amount: float = 1, **labels: str) -> None:
        """Add to a counter."""
        with self._lock:
            values = self._counters.setdefault(name, {})
            key = _key(labels)
            values[key] = values.get(key, 0) + amount

    def observe(self, name: str, value: float, bounds: Sequence[float], **labels: str) -> None:
        """Put a value into a histogram."""
        with self._lock:
            found = self._histograms.setdefault(name, {})
            histogram = found.setdefault(_key(labels), _Histogram(bounds, [0] * (len(bounds) + 1)))
            histogram.counts[sum(bound < value for bound in bounds)] += 1
            histogram.total += value

    def watch(self, name: str, value: Callable[[], float], **labels: str) -> None:
        """Ask for a value whenever the text is made."""
        with self._lock:
            self._gauges.setdefault(name, {})[_key(labels)] = value

    def text(self) -> str:
        """Return everything in Prometheus' text format."""
        lines: list[str] = []
        with self._lock:
            for name, values in sorted(self._counters.items()):
                lines += _head(name, "counter")
                lines += [self._line(name, labels, value) for labels, value in sorted(values.items())]
            for name, histograms in sorted(self._histograms.items()):
                lines += _head(name, "histogram")
                for labels, histogram in sorted(histograms.items(), key=lambda item: item[0]):
                    lines += self._histogram(name, labels, histogram)
            for name, gauges in sorted(self._gauges.items()):
                lines += _head(name, "gauge")
                lines += [self._line(name, labels, gauge()) for labels, gauge in sorted(gauges.items())]
        return "\n".join([*lines, ""])

    def _histogram(self, name: str, labels: Labels, histogram: _Histogram) -> list[str]:
        lines, below = [], 0
        for bound, count in zip([*histogram.bounds, "+Inf"], histogram.counts, strict=True):
            below += count
            lines.append(self._line(f"{name}_bucket", (*labels, ("le", str(bound))), below))
        return [*lines, self._line(f"{name}_sum", labels, histogram.total), self._line(f"{name}_count", labels, below)]

    def _line(self, name: str, labels: Labels, value: float) -> str:
        told = ",".join(f'{key}="{_escape(each)}"' for key, each in (*labels, *self.labels.items()))
        return f"{name}{{{told}}} {value:.10g}" if told else f"{name} {value:.10g}"


def _head(name: str, kind: str) -> list[str]:
    return [f"# HELP {name} {_HELP[name]}", f"# TYPE {name} {kind}"]


def _key(labels: Mapping[str, str]) -> Labels:
    return tuple(sorted(labels.items()))


def _escape(value: str) -> str:
    return value.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
