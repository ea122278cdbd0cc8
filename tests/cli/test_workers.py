"""Workers are forks of the process that serves, and have of its doings only what is done."""

import os
import threading
from hashlib import pbkdf2_hmac

from shop.cli import serve


def test_no_worker_is_forked_in_the_midst_of_what_another_thread_does() -> None:
    done: list[str] = []
    at_work = threading.Event()

    def look_after_the_database() -> None:
        with serve._at_work:
            at_work.set()
            pbkdf2_hmac("sha256", b"something", b"that takes", 200_000)
            done.append("all of it")

    keeper = threading.Thread(target=look_after_the_database)
    keeper.start()
    at_work.wait()
    fork = os.fork()
    if fork == 0:
        os._exit(0 if done and not serve._at_work.locked() else 1)
    keeper.join()

    assert os.waitstatus_to_exitcode(os.waitpid(fork, 0)[1]) == 0
    assert not serve._at_work.locked()
