"""Rollouts without vLLM or SGLang: a replica that samples with transformers on a processor.

Registered under the name `cpu` in verl's registries of rollouts: the replica of a rank is an actor of its own, and the
rank sends it the weights after each step.
"""

from __future__ import annotations

import asyncio
from collections import Counter

import ray
import torch
from verl.workers.rollout import base, replica

from bookwheel.lab.training.config import PolicySettings
from bookwheel.lab.training.generation import GenerationRequest, generate
from bookwheel.lab.training.loading import load_policy

# Long enough for the conversations of all sessions to arrive, so that they are sampled together.
_WAIT = 0.02


class Server:
    """Samples from the model at `path`, with the weights that it was sent last; of so many requests one may fail.

    With a seed, another run that sends the same prompts gets the same replies, in whatever order it sends them.
    """

    def __init__(self, path, fail_every=0, seed=None):
        self._fail_every = fail_every
        torch.set_num_threads(1)
        self._policy = load_policy(PolicySettings(path=path))
        self._version = None
        self._waiting = []
        self._task = None
        self._seed = torch.seed() if seed is None else seed
        self._asked = Counter()

    async def generate(self, *, prompt_ids, sampling_params, **_):
        prompt = tuple(prompt_ids)
        # Sessions of a sample begin with the same prompt: each must draw on its own.
        self._asked[prompt] += 1
        seed = hash((self._seed, prompt, self._asked[prompt])) % 2**32
        if self._fail_every and seed % self._fail_every == 0:
            raise RuntimeError("this request fails, as the test wants it")
        request = GenerationRequest(
            prompt=prompt,
            limit=sampling_params["max_tokens"],
            temperature=sampling_params["temperature"],
            top_p=sampling_params["top_p"],
            seed=seed,
        )
        future = asyncio.get_running_loop().create_future()
        self._waiting.append((request, future))
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._sample())
        result = await future
        return replica.TokenOutput(
            token_ids=result.ids,
            log_probs=result.logprobs,
            stop_reason="completed",
            extra_fields={"global_steps": self._version},
        )

    async def _sample(self):
        while self._waiting:
            await asyncio.sleep(_WAIT)
            batch, self._waiting = self._waiting, []
            requests, policy = [request for request, _ in batch], self._policy
            results = await asyncio.to_thread(
                generate, policy.model, requests, stop=policy.stop_ids, sharing_limit=policy.sharing_limit
            )
            for (_, future), result in zip(batch, results, strict=True):
                future.set_result(result)

    async def load(self, weights, version):
        missing, unexpected = self._policy.model.load_state_dict(weights, strict=False)
        # The head of a model with tied embeddings.
        assert set(missing) <= {"lm_head.weight"}, missing
        assert not unexpected
        self._version = version

    async def wake_up(self):
        pass

    async def sleep(self):
        pass


class Replica(replica.RolloutReplica):
    async def launch_servers(self):
        # Beside a rank, as an engine of that rank's GPU would be.
        options = {"name": _name(self.replica_rank), "num_cpus": 0}
        server = (
            ray.remote(Server)
            .options(**options)
            .remote(self.model_config.path, **self.config.engine_kwargs.get("cpu", {}))
        )
        await server.wake_up.remote()
        self.servers, self._server_handle, self._server_address = [server], server, _name(self.replica_rank)


class Sender(base.BaseRollout):
    """The part in a rank: it has the weights, and sends them."""

    async def resume(self, tags):
        pass

    async def release(self):
        pass

    async def update_weights(self, weights, *, global_steps=None, **_):
        # All ranks put each weight together, and each has a server.
        whole = {name: weight.detach().clone() for name, weight in weights}
        await ray.get_actor(_name(torch.distributed.get_rank())).load.remote(whole, global_steps)


def _name(rank):
    return f"cpu-server-{rank}"


replica.RolloutReplicaRegistry.register("cpu", lambda: Replica)
# verl's own table of engines; it has no function that adds one.
base._ROLLOUT_REGISTRY["cpu", "async"] = f"{__name__}.Sender"
