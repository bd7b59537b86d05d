"""What measures, and what reports on training, stands without torch: it is there only with the extra `train`."""

import subprocess
import sys

WITHOUT_TORCH = (
    "bookwheel.lab.desk.routes",
    "bookwheel.lab.commands.calibrate",
    "bookwheel.lab.commands.data",
    "bookwheel.lab.commands.eval",
    "bookwheel.lab.commands.share",
    "bookwheel.lab.commands.train",
    "bookwheel.lab.commands.training_view",
    "bookwheel.lab.evaluation.layout",
    "bookwheel.lab.evaluation.run",
    "bookwheel.lab.evaluation.samples",
    "bookwheel.lab.training.advantages",
    "bookwheel.lab.training.config",
    "bookwheel.lab.training.records",
    "bookwheel.lab.training.samples",
    "bookwheel.lab.training.verl.credit",
    "bookwheel.lab.training.verl.settings",
    "bookwheel.serve.app",
)


def test_the_commands_the_desk_and_the_records_import_no_torch():
    code = (
        "import importlib, sys\n"
        "sys.modules |= dict.fromkeys(('torch', 'transformers', 'peft', 'safetensors'))\n"
        f"for name in {WITHOUT_TORCH!r}: importlib.import_module(name)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-1000:]
