"""What ``run`` does: everything that can be wrong is found first, then the tasks run in turn."""

from __future__ import annotations

import contextlib
import datetime as dt
import os
import secrets
import shutil
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from devops_bench import __version__
from devops_bench.agents.base import AGENTS, Agent
from devops_bench.agents.factory import make_agent
from devops_bench.agents.options import AgentOptions
from devops_bench.agents.sandbox.availability import require
from devops_bench.agents.sandbox.options import SandboxOptions
from devops_bench.agents.usage import parse_prices
from devops_bench.cli.clusters import choose_provider
from devops_bench.cli.errors import (
    print_error,
    printable,
    printable_lines,
    render_diagnostics,
    use_color,
)
from devops_bench.cli.interrupts import Interrupts
from devops_bench.cli.output import write_quietly, write_report
from devops_bench.cli.progress import Progress
from devops_bench.cli.words import shown_words
from devops_bench.clusters.base import ClusterProvider
from devops_bench.core.errors import DevopsBenchError, InvalidInputError
from devops_bench.core.shielding import shield_memory
from devops_bench.evalharness.default import DefaultEvalHarness, HarnessOptions
from devops_bench.evalharness.limits import verification_total_budget_sec, warn_once
from devops_bench.results.model import EXIT_INTERRUPTED, RunResult
from devops_bench.results.summary import render_summary
from devops_bench.results.writer import ResultWriter
from devops_bench.tasks.loader import LoadedTasks, LoadOptions, load_tasks
from devops_bench.tasks.model import Task


@dataclass(frozen=True, slots=True)
class RunRequest:
    """What the user asked for; see the options of ``run``.

    Attributes:
        specs: Files and folders.
        agent: The agent's name.
        agent_words: The words for it.
        provider: ``local``, ``kind``, or ``None`` when neither was said.
        kubeconfig: An existing cluster's.
        context: An existing cluster's.
        adopt: Take over what is there already.
        variables: Values of ``--var``.
        timeout_sec: Seconds of each turn, > 0; ``None`` for the task's own.
        agent_environment: What the agent gets besides the allow-list.
        sandbox: What the agent may see and reach; ``None`` for no sandbox.
        prices: The text of ``--prices``.
        results_dir: Where the run's folder is made.
        as_json: Write the result as JSON to standard output, and everything else to stderr.
        keep: Leave what was made.
        allow_invalid_entries: Run although entries do not parse.
    """

    specs: tuple[Path, ...]
    agent: str
    agent_words: tuple[str, ...] = ()
    provider: str | None = None
    kubeconfig: Path | None = None
    context: str | None = None
    adopt: bool = False
    variables: Mapping[str, str] = field(default_factory=dict)
    timeout_sec: float | None = None
    agent_environment: Mapping[str, str] = field(default_factory=dict)
    sandbox: SandboxOptions | None = None
    prices: str | None = None
    results_dir: Path = Path("results")
    as_json: bool = False
    keep: bool = False
    allow_invalid_entries: bool = False


def execute(request: RunRequest) -> int:
    """Run what was asked for, and return the exit code.

    Raises:
        InvalidInputError: Something is wrong with the request, and nothing was touched.
        DevopsBenchError: The run could not be made, or its result could not be written.
    """
    # Before there is anything in it that an agent has no business with.
    shield_memory()
    warn_once()
    run_id = new_run_id()
    stream = sys.stderr if request.as_json else sys.stdout
    say = _Say()
    choice = choose_provider(
        request.provider, request.kubeconfig, request.context, keep=request.keep, say=say
    )
    loaded = _load(request, {"RUN_ID": run_id, "CLUSTER_NAME": choice.cluster_name(run_id)})
    choice.require(loaded.tasks)
    if request.sandbox is not None:
        require(request.sandbox)
    prices = None if request.prices is None else parse_prices(request.prices)
    options = AgentOptions(request.agent_words, prices=prices, sandbox=request.sandbox)
    factory = make_agent(request.agent, options)
    # What is wrong with the agent is found here, before anything is touched.
    agents = {task.id: factory(task) for task in loaded.tasks}
    provider = choice.provider()
    writer = ResultWriter(request.results_dir, run_id)
    progress = Progress(stream, tasks=len(loaded.tasks), quiet_turns=request.agent == "human")
    say.to = progress.line
    progress.line(f"cluster: {provider.name} ({printable(provider.why)})")
    _warn(request, loaded)
    with Interrupts(_say_unbuffered) as interrupts, progress:
        progress.on_phase = interrupts.on_phase
        run = _Run(request, run_id, provider, agents, writer, progress, interrupts)
        result = run.all_tasks(loaded.tasks)
    _print_result(request, result, writer, written=run.unwritten is None)
    if interrupts.cancel.is_set():
        return EXIT_INTERRUPTED
    return result.exit_code if run.unwritten is None else DevopsBenchError.exit_code


def new_run_id() -> str:
    """Return an id that sorts by time and is safe as a folder's and as an object's name."""
    return f"{dt.datetime.now(dt.UTC):%Y%m%d-%H%M%S}-{secrets.token_hex(3)}"


def _say_unbuffered(text: str) -> None:
    with contextlib.suppress(OSError):  # a terminal that was closed: that may be the signal
        os.write(2, f"\n{text}\n".encode())


class _Say:
    """Takes the lines of a provider that is made before there is a place to show them."""

    def __init__(self) -> None:
        self.to: Callable[[str], None] = lambda line: write_quietly(
            f"{printable(line)}\n", sys.stderr
        )

    def __call__(self, line: str) -> None:
        self.to(printable(line))


class _Run:
    """The tasks of one run, one after the other, written down after each.

    Attributes:
        unwritten: Why the newest result is not on the disk, ``None`` when it is.
    """

    def __init__(
        self,
        request: RunRequest,
        run_id: str,
        provider: ClusterProvider,
        agents: Mapping[str, Agent],
        writer: ResultWriter,
        progress: Progress,
        interrupts: Interrupts,
    ) -> None:
        self.unwritten: str | None = None
        self._begun = False
        self._writer = writer
        self._interrupts = interrupts
        self._result = RunResult(
            run_id=run_id,
            harness_version=__version__,
            agent=shown_words((request.agent, *request.agent_words)),
            started_at=dt.datetime.now(dt.UTC),
        )
        self._harness = DefaultEvalHarness(
            provider,
            lambda task: agents[task.id],
            run_id=run_id,
            reporter=progress,
            options=HarnessOptions(
                adopt=request.adopt,
                keep=request.keep,
                judge_only=request.agent == "none" and provider.name == "kubeconfig",
                timeout_sec=request.timeout_sec,
                agent_environment=request.agent_environment,
                sandbox=request.sandbox,
            ),
            cancel=interrupts.cancel,
        )

    def all_tasks(self, tasks: tuple[Task, ...]) -> RunResult:
        """Run the tasks until they are done or the run is interrupted."""
        self._update(planned=[task.id for task in tasks])
        if self.unwritten is not None:
            raise DevopsBenchError(self.unwritten)  # nothing was touched yet
        self._begun = True
        for task in tasks:
            if self._interrupts.cancel.is_set():
                break
            try:
                finished = self._harness.run_task(task, self._writer.run_dir)
            except InvalidInputError:
                if not self._result.tasks:  # nothing was touched, so nothing is left either
                    shutil.rmtree(self._writer.run_dir)
                raise
            finally:
                self._interrupts.between_tasks()
            self._update(tasks=[*self._result.tasks, finished])
        self._update(finished_at=dt.datetime.now(dt.UTC))
        return self._result

    def _update(self, **fields: object) -> None:
        self._result = self._result.model_copy(update=fields)
        try:
            self._writer.write(self._result)
            self.unwritten = None
        except OSError as exc:
            # What was seen is still told on the terminal, and the next task may find a place.
            before, self.unwritten = (
                self.unwritten,
                f"the result could not be written to {self._writer.result_path}: {exc.strerror}",
            )
            if self.unwritten != before and self._begun:
                print_error(self.unwritten)


def _load(request: RunRequest, built_in: Mapping[str, str]) -> LoadedTasks:
    loaded = load_tasks(
        request.specs,
        LoadOptions(
            mode="run",
            variables=request.variables,
            built_in={"NAMESPACE": "default", **built_in},
            total_budget_sec=verification_total_budget_sec(),
            allow_invalid_entries=request.allow_invalid_entries,
        ),
    )
    loaded.raise_for_errors()
    if not loaded.tasks:
        raise InvalidInputError("there is no task to run")
    return loaded


def _warn(request: RunRequest, loaded: LoadedTasks) -> None:
    """Print what does not keep the specs from running."""
    text = render_diagnostics(loaded.diagnostics, color=use_color(sys.stderr))
    used = {name for found in loaded.files.values() for name in found.used_variables}
    for name in request.variables:
        if name not in used:
            text += f"warning: --var {name}: no spec refers to that variable\n"
    for plug_in in AGENTS.passed_over(request.agent):
        text += (
            f"warning: the plug-in {plug_in} is called {request.agent} too, and is not used: "
            f"{request.agent} is an agent of devops-bench\n"
        )
    if request.agent == "command":
        for word in request.agent_words[1:]:
            if not Path(word).is_absolute() and _is_file(word):
                text += (
                    f"warning: {printable(word)} is a file here, but the agent starts in a new "
                    "empty folder: give its full path if it is meant\n"
                )
    write_quietly(text, sys.stderr)


def _is_file(word: str) -> bool:
    """Return whether a word for the agent names a file; a script in it is too long to be a name."""
    try:
        return Path(word).is_file()
    except (OSError, ValueError):
        return False


def _print_result(
    request: RunRequest, result: RunResult, writer: ResultWriter, *, written: bool
) -> None:
    for task in result.tasks:
        if task.status == "error":
            print_error(f"task {task.id}: {task.reason}")
    if request.as_json:
        write_report(result.model_dump_json(indent=2) + "\n")
    else:
        where = f"result: {writer.result_path}"
        if not written:
            where = f"the result is only what stands here: {writer.result_path} is not up to date"
        text = f"\n{render_summary(result)}{where}\n"
        write_report(printable_lines(text))
