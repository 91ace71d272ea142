"""Has schemathesis send a running house what its own description allows, and what it does not.

    python check.py PATH-OF-KITH

Looked at: no request brings the server to an error of its own, every status and body is described, what the
forms forbid is refused, and no call works without the token. Not looked at: that whatever fits a form is
accepted (a session that does not exist fits too), and refusals after too many wrong tokens, which are 429.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

EXAMPLES = "8"
# These end the house, write where the request says, or never end.
LEFT_OUT = ["release_house", "back_up_house", "subscribe", "follow_house", "logout"]
NOT_CHECKED = "positive_data_acceptance,ignored_auth"


def main(kith: str) -> int:
    home = pathlib.Path(tempfile.mkdtemp(prefix="kith-openapi-"))
    house = home / "agent"
    house.mkdir()
    (house / "Agent.md").write_text("Be kind.\n")
    environment = {**os.environ, "HOME": str(home), "KITH_HOME": str(house), "NO_PROXY": "127.0.0.1"}
    daemon = subprocess.Popen(
        [kith, "up", "--port", "0"], cwd=house, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    try:
        address = next(found for line in daemon.stdout if (found := re.search(r"http://127\.0\.0\.1:\d+", line)))[0]
        token = (house / ".kith/http-token").read_text().strip()
        subprocess.run([kith, "ask", "hello"], cwd=house, env=environment, check=True, stdout=subprocess.DEVNULL)
        command = [str(pathlib.Path(sys.executable).parent / "st"), "run", f"{address}/api/openapi.json"]
        command += ["--header", f"Authorization: Bearer {token}", "--phases", "coverage,fuzzing", "--seed", "1"]
        command += ["--max-examples", EXAMPLES, "--exclude-checks", NOT_CHECKED, "--continue-on-failure", "--no-color"]
        for name in LEFT_OUT:
            command += ["--exclude-operation-id", name]
        return subprocess.run(command, cwd=home, env=environment).returncode
    finally:
        daemon.terminate()
        daemon.wait()
        shutil.rmtree(home, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main(str(pathlib.Path(sys.argv[1]).resolve())))
