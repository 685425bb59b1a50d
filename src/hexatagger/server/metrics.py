"""The metrics of the service, for Prometheus.

Every process counts for itself; where there are several, the label `worker` tells them apart.
"""

from collections.abc import Iterator, Mapping

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Metric

_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
_REQUESTS = (1, 2, 4, 8, 16, 32, 64, 128)


class ServiceMetrics(CollectorRegistry):
    """The counters, gauges and histograms of one process; `labels` are added to every line."""

    def __init__(self, labels: Mapping[str, str]) -> None:
        super().__init__()
        self._own = dict(labels)
        model = ["model"]
        self.requests = Counter("hexatagger_requests", "Requests.", ["path", "status"], registry=self)
        self.seconds = Histogram("hexatagger_request_seconds", "Seconds per parse.", registry=self, buckets=_SECONDS)
        self.batches = Histogram(
            "hexatagger_batch_requests", "Requests per parser call.", model, registry=self, buckets=_REQUESTS
        )
        self.sentences = Counter("hexatagger_sentences", "Parsed sentences.", model, registry=self)
        self.words = Counter("hexatagger_words", "Parsed words.", model, registry=self)
        self.waiting = Gauge("hexatagger_waiting_requests", "Unanswered parse requests.", model, registry=self)

    def collect(self) -> Iterator[Metric]:
        """Yield all metrics, without the times at which they were created."""
        for metric in super().collect():
            metric.samples = [
                sample._replace(labels={**sample.labels, **self._own})
                for sample in metric.samples
                if not sample.name.endswith("_created")
            ]
            yield metric
