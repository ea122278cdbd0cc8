"""The private members of Granian that `shop serve` overrides (docs/decisions/0021)."""

import inspect

from granian.server.common import AbstractServer
from granian.server.mp import MPServer, WorkerProcess

ADVICE = "Granian has changed; read docs/decisions/0021 and adapt DrainingServer in shop/cli/server/serve.py: "


def source(member: object) -> str:
    return inspect.getsource(member)  # type: ignore[arg-type]


def test_granian_starts_each_worker_with_the_method_that_adds_its_heartbeat() -> None:
    parameters = list(inspect.signature(MPServer._spawn_worker).parameters)

    assert parameters == ["self", "idx", "target", "callback_loader"], ADVICE + "_spawn_worker has other parameters"
    for caller in (AbstractServer._spawn_workers, AbstractServer._respawn_workers):
        call = "self._spawn_worker(idx=idx, target=spawn_target, callback_loader=target_loader)"
        assert call in source(caller), ADVICE + "_spawn_worker is called in another way"


def test_granian_waits_for_the_event_that_checks_the_workers() -> None:
    assert "self.main_loop_interrupt = threading.Event()" in source(AbstractServer.__init__), ADVICE + "another event"
    assert "self.main_loop_interrupt.wait()" in source(AbstractServer._serve_loop), ADVICE + "it waits in another way"


def test_granian_drains_in_the_methods_that_are_overridden() -> None:
    assert "self.interrupt_signal = True" in source(AbstractServer.signal_handler_interrupt), ADVICE + "another flag"
    assert list(inspect.signature(AbstractServer.shutdown).parameters) == ["self", "exit_code"], ADVICE + "shutdown"
    assert "self.interrupt_by_parent = True" in source(WorkerProcess.terminate), ADVICE + "terminate marks another way"
