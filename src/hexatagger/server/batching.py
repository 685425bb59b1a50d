"""Batching across clients: each model has a queue and a thread, and a second pair of them for slow requests.

The thread takes the first request in the queue, waits a moment for others (`window`), and gives all of them to the
parser in one call. While that call runs, the next requests gather: the busier the service, the larger its batches. A
request that fails in company is parsed again alone, so that it cannot spoil the others.

Requests with much chart work (see `cost`) go to the second thread, sentence by sentence. They do not hold up the
others, and they stop after the sentence in hand when their time is over or the service shuts down.
"""

import contextlib
import logging
import queue
import threading
import time
from collections import deque
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from itertools import islice

from hexatagger.decode import Constraints
from hexatagger.errors import ConfigError, ConstraintError
from hexatagger.formats.ids import Ids
from hexatagger.parsing.parser import Parser
from hexatagger.sentence import Sentence
from hexatagger.server.cost import check_cost
from hexatagger.server.metrics import ServiceMetrics
from hexatagger.server.options import ServerOptions
from hexatagger.server.refused import Refused
from hexatagger.server.request import ParseRequest, ParseTask

_log = logging.getLogger(__name__)

_QUICK = 0.1
"""Seconds of chart work up to which a request is parsed together with others."""
_PATIENCE = 5.0
"""Seconds that shutting down waits for a thread."""


@dataclass(slots=True, eq=False)
class _Job:
    """A request that waits for its answer."""

    task: ParseTask
    answer: "Future[list[Sentence]]" = field(default_factory=Future)
    pairs: Sequence[tuple[Sentence, Constraints | None]] = ()
    """The sentences with their constraints, once the text is segmented."""
    deadline: float = 0.0


class Batcher:
    """A parser with its queue and its thread."""

    def __init__(self, name: str, parser: Parser, options: ServerOptions, metrics: ServiceMetrics) -> None:
        self.name, self.parser, self._options, self._metrics = name, parser, options, metrics
        self.segments = False
        with contextlib.suppress(ConfigError):
            self.segments = parser.segmenter is not None  # loads it
        self._waiting: deque[_Job] = deque()
        self._slow: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._running = 0
        self._closed = False
        self._changed = threading.Condition()
        metrics.waiting.labels(name).set_function(lambda: len(self._waiting) + self._slow.qsize() + self._running)
        # subtle: daemons, so that a sentence in hand cannot keep the process alive
        self._threads = [
            threading.Thread(target=work, name=f"hexatagger-{name}-{kind}", daemon=True)
            for kind, work in (("quick", self._work), ("slow", self._work_slowly))
        ]
        for thread in self._threads:
            thread.start()

    def ask(self, task: ParseTask) -> "Future[list[Sentence]]":
        """Put a request into the queue, or refuse it if the queue is full. Cancel the future to take it out again."""
        if "text" in task.request.model_fields_set and not self.segments:
            message = f"model '{self.name}' cannot segment text: send words or conllu"
            raise Refused(422, "no_segmenter", message, field="text")
        job = _Job(task, deadline=time.monotonic() + self._options.timeout)
        with self._changed:
            if self._closed:
                raise Refused(503, "shutting_down", "the service is shutting down: try another", retry_after=5)
            if (waiting := len(self._waiting) + self._slow.qsize()) >= self._options.max_queue:
                message = f"{waiting} requests are waiting already: try again later"
                raise Refused(429, "queue_full", message, retry_after=1)
            self._waiting.append(job)
            self._changed.notify()
        return job.answer

    def close(self) -> None:
        """Answer what waits, then stop the threads; a slow request is given up after the sentence in hand."""
        with self._changed:
            self._closed = True
            self._changed.notify()
        until = time.monotonic() + _PATIENCE
        for thread in self._threads:
            thread.join(max(0.0, until - time.monotonic()))

    def _work(self) -> None:
        while jobs := self._collect():
            try:
                self._answer([job for job in jobs if job.answer.set_running_or_notify_cancel()])
            finally:
                self._running = 0
        self._slow.put(None)

    def _work_slowly(self) -> None:
        """Parse slow requests one after the other, one sentence at a time."""
        while job := self._slow.get():
            made: list[Sentence] = []
            try:
                for pair in job.pairs:
                    if self._closed or time.monotonic() > job.deadline:
                        raise Refused(503, "timeout", "the time for this request is over: send less", retry_after=1)
                    made += self._run(job.task.request, [pair])
            except Exception as error:
                job.answer.set_exception(_told(error))
            else:
                self._metrics.batches.labels(self.name).observe(1)
                job.answer.set_result(made)

    def _collect(self) -> list[_Job]:
        """Wait for requests; return none once the queue is closed and empty."""
        most = self._options.batch
        with self._changed:
            while not self._waiting and not self._closed:
                self._changed.wait()
            until = time.monotonic() + self._options.window
            while 0 < len(self._waiting) < most and not self._closed and (left := until - time.monotonic()) > 0:
                self._changed.wait(left)
            jobs = [self._waiting.popleft() for _ in range(min(most, len(self._waiting)))]
            self._running = len(jobs)
        return jobs

    def _answer(self, jobs: Sequence[_Job]) -> None:
        """Answer requests together; those with the same options share one call."""
        groups: dict[tuple[bool, int], list[_Job]] = {}
        for job in jobs:
            request = job.task.request
            try:
                given = self._segment(request.text) if request.text else job.task.sentences
                sentences = list(map(Ids().complete, given))
                job.pairs = list(job.task.pairs(sentences))
                seconds = check_cost(job.task, sentences, self.parser, self._options)
            except Exception as error:
                job.answer.set_exception(_told(error))
                continue
            if seconds > _QUICK:
                self._slow.put(job)
            else:
                groups.setdefault((request.probabilities, request.k), []).append(job)
        for group in groups.values():
            for part in _parts(group, self._options.max_words):
                self._parse(part)

    def _parse(self, jobs: Sequence[_Job]) -> None:
        """Parse the sentences of all jobs in one call."""
        try:
            made = iter(self._run(jobs[0].task.request, [pair for job in jobs for pair in job.pairs]))
        except Exception as error:
            if len(jobs) == 1:
                jobs[0].answer.set_exception(_told(error))
            else:
                for job in jobs:
                    self._parse([job])
            return
        self._metrics.batches.labels(self.name).observe(len(jobs))
        for job in jobs:
            job.answer.set_result(list(islice(made, len(job.pairs))))

    def _run(self, request: ParseRequest, pairs: Sequence[tuple[Sentence, Constraints | None]]) -> list[Sentence]:
        """Call the parser and count what it did."""
        sentences, constraints = [sentence for sentence, _ in pairs], [known for _, known in pairs]
        made = self.parser.parse_sentences(
            sentences, probabilities=request.probabilities, k=request.k, constraints=constraints
        )
        self._metrics.sentences.labels(self.name).inc(len(made))
        self._metrics.words.labels(self.name).inc(sum(map(len, made)))
        return made

    def _segment(self, text: str) -> list[Sentence]:
        """Segment text; stop once there are too many words."""
        sentences: list[Sentence] = []
        words = 0
        for sentence in self.parser.segmenter.stream([text]):
            sentences.append(sentence)
            if (words := words + len(sentence)) > self._options.max_words:
                break
        return sentences


def _told(error: Exception) -> Exception:
    """Turn an error in the request into a refusal; others are faults of the model or of ours, and are only logged."""
    if isinstance(error, ConstraintError):
        return Refused(422, "contradiction", str(error), field="constraints")
    if not isinstance(error, Refused):
        _log.error("a request failed", exc_info=error)
    return error


def _parts(jobs: Sequence[_Job], most: int) -> list[list[_Job]]:
    """Split jobs into parts with a limit on words, so that small requests do not wait for many large ones."""
    parts: list[list[_Job]] = []
    room = 0
    for job in jobs:
        size = sum(len(sentence) for sentence, _ in job.pairs)
        if not parts or size > room:
            parts.append([])
            room = most
        parts[-1].append(job)
        room -= size
    return parts
