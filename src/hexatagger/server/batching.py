"""Questions of many clients, answered together: one queue and one thread for each model.

The thread takes the first question that waits, gives others a moment to arrive (`window`), and hands all of them to the
parser in one call. While that runs the next ones gather by themselves, so the busier the service, the larger its
batches. A question that fails is asked again alone, so that it cannot spoil the others.
"""

import logging
import threading
import time
from collections import deque
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

from hexatagger.decode import Constraints
from hexatagger.errors import ConfigError, ConstraintError, HexataggerError
from hexatagger.parsing.parser import Parser
from hexatagger.sentence import Sentence
from hexatagger.server.metrics import REQUESTS, Metrics
from hexatagger.server.options import Options
from hexatagger.server.question import Known, Question, Refused, check_size

_log = logging.getLogger(__name__)


@dataclass(slots=True, eq=False)
class _Job:
    """A question that waits for its answer."""

    question: Question
    answer: "Future[list[Sentence]]" = field(default_factory=Future)
    sentences: Sequence[Sentence] = ()


class Batcher:
    """A parser, the queue before it and the thread that works it off."""

    def __init__(self, name: str, parser: Parser, options: Options, metrics: Metrics) -> None:
        self.name, self.parser, self._options, self._metrics = name, parser, options, metrics
        self.cuts_text = _has_segmenter(parser)
        self._waiting: deque[_Job] = deque()
        self._running = 0
        self._closed = False
        self._changed = threading.Condition()
        metrics.watch("hexatagger_waiting_requests", lambda: len(self._waiting) + self._running, model=name)
        self._thread = threading.Thread(target=self._work, name=f"hexatagger-{name}", daemon=True)
        self._thread.start()

    def ask(self, question: Question) -> "Future[list[Sentence]]":
        """Put a question into the queue, or refuse it because the queue is full.

        Cancel the future to take it out again.
        """
        job = _Job(question)
        with self._changed:
            if self._closed:
                raise Refused(503, "shutting_down", "the service is shutting down: try another", retry_after=5)
            if len(self._waiting) >= self._options.max_queue:
                message = f"{len(self._waiting)} requests are waiting already: try again later"
                raise Refused(429, "queue_full", message, retry_after=1)
            self._waiting.append(job)
            self._changed.notify()
        return job.answer

    def close(self) -> None:
        """Answer what waits, then stop the thread."""
        with self._changed:
            self._closed = True
            self._changed.notify()
        self._thread.join()

    def _work(self) -> None:
        while jobs := self._collect():
            try:
                self._answer([job for job in jobs if job.answer.set_running_or_notify_cancel()])
            finally:
                self._running = 0

    def _collect(self) -> list[_Job]:
        """Wait for questions; return none when closed and all are answered."""
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
        """Answer questions together, those that ask for the same in one call."""
        groups: dict[tuple[bool, int], list[_Job]] = {}
        for job in jobs:
            try:
                job.sentences = self._sentences(job.question)
            except Exception as error:
                job.answer.set_exception(self._told(error))
            else:
                groups.setdefault((job.question.probabilities, job.question.k), []).append(job)
        for group in groups.values():
            for part in _parts(group, self._options.max_words):
                self._parse(part)

    def _sentences(self, question: Question) -> Sequence[Sentence]:
        """Cut text into sentences; what was given as words stays."""
        if question.text is None:
            return question.sentences
        if not self.cuts_text:
            message = f"model '{self.name}' cannot cut text into words: send words or conllu"
            raise Refused(422, "no_segmenter", message, field="text")
        sentences = self.parser.segmenter.segment(question.text)
        check_size(question, sentences, self._options)
        return sentences

    def _parse(self, jobs: Sequence[_Job]) -> None:
        """Parse the sentences of all jobs in one call."""
        try:
            sentences = [sentence for job in jobs for sentence in job.sentences]
            made = self.parser.parse_sentences(sentences, **self._wanted(jobs))
        except Exception as error:
            if len(jobs) == 1:
                jobs[0].answer.set_exception(self._told(error))
            else:
                for job in jobs:
                    self._parse([job])
            return
        self._metrics.observe("hexatagger_batch_requests", len(jobs), REQUESTS, model=self.name)
        self._metrics.count("hexatagger_sentences_total", len(made), model=self.name)
        self._metrics.count("hexatagger_words_total", sum(map(len, made)), model=self.name)
        parsed = iter(made)
        for job in jobs:
            job.answer.set_result([next(parsed) for _ in job.sentences])

    def _wanted(self, jobs: Sequence[_Job]) -> dict[str, Any]:
        """Return the options of the call: what the questions, all alike, ask for."""
        question = jobs[0].question
        wanted: dict[str, Any] = {}
        if question.probabilities:
            wanted["probabilities"] = True
        if question.k > 1:
            wanted["k"] = question.k
        if any(any(job.question.known) for job in jobs):
            constraints: list[Constraints | None] = []
            for job in jobs:
                constraints += [None if known is None else _constraints(known) for known in job.question.known]
                constraints += [None] * (len(job.sentences) - len(job.question.known))
            wanted["constraints"] = constraints
        return wanted

    def _told(self, error: Exception) -> Exception:
        """Turn an error that the client made into an answer; the others are ours."""
        if isinstance(error, ConstraintError):
            return Refused(422, "contradiction", str(error), field="constraints")
        if isinstance(error, HexataggerError):
            return Refused(422, "invalid", str(error))
        if not isinstance(error, Refused):
            _log.error("a request failed", exc_info=error)
        return error


def _parts(jobs: Sequence[_Job], most: int) -> list[list[_Job]]:
    """Cut jobs into parts of at most so many words, so that small questions do not wait for many large ones."""
    parts: list[list[_Job]] = []
    room = 0
    for job in jobs:
        size = sum(map(len, job.sentences))
        if not parts or size > room:
            parts.append([])
            room = most
        parts[-1].append(job)
        room -= size
    return parts


def _has_segmenter(parser: Parser) -> bool:
    """Say whether a parser can cut text; if so, what it needs for that is loaded now."""
    try:
        return parser.segmenter is not None
    except ConfigError:
        return False


def _constraints(known: Known) -> Constraints:
    """Say what is known as the parser wants it."""
    return Constraints(
        heads=known.heads,
        forbidden=known.forbidden,
        relations=known.relations,
        root=known.root,
        spans=known.spans,
    )
