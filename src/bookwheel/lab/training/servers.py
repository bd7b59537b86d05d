"""Servers that sample rollouts: vLLM and SGLang, by their documented HTTP APIs, token ids in and out.

    vLLM      POST /v1/completions                   prompt ids -> token ids and log-probabilities
              POST /pause?mode=keep, /init_weight_transfer_engine (once), /start_weight_update, /update_weights,
                   /finish_weight_update, /resume    load the weights of a folder; needs VLLM_SERVER_DEV_MODE=1 and
                                                     --weight-transfer-config '{"backend": "disk"}'
              GET /weight_info                       the version of the weights that it has
    SGLang    POST /generate                         input ids -> token ids and log-probabilities
              POST /pause_generation, /update_weights_from_disk, /continue_generation
              GET /get_model_info                    the version of the weights that it has

Sampling settings that a model's own files may set (top_k, min_p, repetition penalty) are sent as neutral values: the
trainer computes the probabilities of the plain distribution.

New weights are passed on before the next batch begins:

    in process            they are the same; gathered for as long as rollouts last where they are sharded
    in process, stale     a snapshot is copied
    by a server           they are written to a folder, which the server loads

A server that was started anew has the weights it was started with. Before every batch, and after every broken
connection, it is asked which it has, and gets the newest again before it samples another token.
"""

import asyncio
import logging
import shutil
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping
from collections.abc import Set as AbstractSet
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any, Final, TypeVar

from tenacity import AsyncRetrying, retry_if_exception_type, stop_after_attempt, wait_random_exponential

from bookwheel.errors import BadReply, Overloaded, Rejected, ServerFault, TimedOut, Unreachable
from bookwheel.lab.training import ranks
from bookwheel.lab.training.config import RolloutServerSettings, TrainConfig
from bookwheel.lab.training.errors import ConfigError
from bookwheel.lab.training.generation import GenerationRequest, GenerationResult, mix_seed
from bookwheel.lab.training.policy import Policy

_log: Final = logging.getLogger(__name__)
_NEUTRAL: Final = {"top_k": -1, "min_p": 0.0, "repetition_penalty": 1.0}
# A restart of the server's front takes a few seconds; a rollout that fails after these is recorded as failed.
_TRIES: Final = 5
_LONGEST_WAIT: Final = 20.0
_TOO_BUSY: Final = (429, 503, 529)
_FIRST_ERROR: Final = 400
_FIRST_FAULT: Final = 500
_Answer = TypeVar("_Answer")


class RolloutServer(ABC):
    """One server; `stop` ends a reply."""

    _version_route: str

    def __init__(self, settings: RolloutServerSettings, stop: AbstractSet[int]) -> None:
        self._address = settings.address.rstrip("/")
        self._timeout = settings.timeout
        self._stop = stop
        self._places = asyncio.Semaphore(settings.concurrency)
        self._client: Any = None
        self.loaded: tuple[Path, int] | None = None
        """The folder and version of the weights that the server should have."""
        self._is_doubtful = False
        self._restoring = asyncio.Lock()

    @abstractmethod
    async def _load(self, folder: Path, version: int) -> None:
        """Make the server sample from the weights in a folder that it sees under the same path."""

    @abstractmethod
    async def _sample(self, request: GenerationRequest) -> tuple[list[int], list[float]]:
        """Return the sampled ids and their log-probabilities."""

    async def load_weights(self, folder: Path, version: int) -> None:
        """Make the server sample from the weights in a folder that it sees under the same path."""
        await self._load(folder, version)
        self.loaded, self._is_doubtful = (folder, version), False

    async def restore(self) -> None:
        """Load the newest weights again if the server no longer has them: it was started anew."""
        async with self._restoring:
            if self.loaded is None:
                return
            found, (folder, version) = await self._ask_version(), self.loaded
            if found != str(version) and (found is not None or self._is_doubtful):
                _log.warning("%s was started anew and gets the weights of version %d again", self._address, version)
                await self.load_weights(folder, version)
            self._is_doubtful = False

    async def submit(self, request: GenerationRequest) -> GenerationResult:
        """Return what the server sampled after the request's prompt."""
        async with self._places:
            ids, logprobs = await self._try(self._sample_anew, request)
        return GenerationResult(ids=ids, logprobs=logprobs, stopped=bool(ids) and ids[-1] in self._stop)

    async def _sample_anew(self, request: GenerationRequest) -> tuple[list[int], list[float]]:
        if self._is_doubtful:
            await self.restore()
        return await self._sample(request)

    async def aclose(self) -> None:
        if self._client is not None:
            await self._client.aclose()
            self._client = None

    async def _try(self, call: Callable[..., Awaitable[_Answer]], *arguments: Any) -> _Answer:
        """Return the answer of a call; a server that is away for a moment is asked again."""
        tries = AsyncRetrying(
            retry=retry_if_exception_type((Unreachable, Overloaded)),
            stop=stop_after_attempt(_TRIES),
            wait=wait_random_exponential(multiplier=0.5, max=_LONGEST_WAIT),
            reraise=True,
        )
        return await tries(call, *arguments)

    async def _post(self, route: str, body: Mapping[str, Any] | None = None) -> Any:
        return await self._try(self._ask, "POST", route, body)

    async def _ask(self, method: str, route: str, body: Mapping[str, Any] | None = None) -> Any:
        """Return the answer to one request."""
        import httpx2

        if self._client is None:
            # A server that is gone refuses at once; as many connections as there are requests at the same time.
            timeout = httpx2.Timeout(self._timeout, connect=10.0, pool=None)
            limits = httpx2.Limits(max_connections=None)
            self._client = httpx2.AsyncClient(base_url=self._address, timeout=timeout, limits=limits)
        try:
            answer = await self._client.request(method, route, json=body)
        except (httpx2.ReadTimeout, httpx2.WriteTimeout) as error:
            raise TimedOut(
                f"{self._address}{route} sent nothing within {self._timeout:g} s: raise train.server.timeout if its "
                f"replies take longer"
            ) from error
        except httpx2.TransportError as error:
            self._is_doubtful = True
            raise Unreachable(f"no server answers at {self._address}: {error!r}") from error
        if answer.status_code in _TOO_BUSY:
            raise Overloaded(f"{self._address}{route} is busy")
        if answer.status_code >= _FIRST_ERROR:
            fault = ServerFault if answer.status_code >= _FIRST_FAULT else Rejected
            raise fault(f"{self._address}{route} answers {answer.status_code}: {answer.text[:300]}")
        try:
            return answer.json()
        except ValueError as error:
            raise BadReply(f"{self._address}{route} sent no JSON: {answer.text[:300]}") from error

    async def _ask_version(self) -> str | None:
        """Return the version of the weights that the server has; None where it cannot tell."""
        try:
            answer = await self._try(self._ask, "GET", self._version_route)
        except (Rejected, ServerFault):  # an older server
            return None
        version = answer.get("weight_version") if isinstance(answer, dict) else None
        return None if version is None else str(version)


class VllmServer(RolloutServer):
    """A vLLM server."""

    _version_route = "/weight_info"
    _is_prepared = False

    async def _load(self, folder: Path, version: int) -> None:
        """Load a folder by the weight-transfer routes; replies under way wait and go on with the new weights."""
        try:
            was_prepared = self._is_prepared and not self._is_doubtful
            try:
                await self._update(folder, version, prepare=not was_prepared)
            except (Rejected, ServerFault):
                # A server that was started anew was never prepared.
                if not was_prepared:
                    raise
                await self._update(folder, version, prepare=True)
        except Rejected as error:
            raise ConfigError(
                f"{self._address} takes no weights: start it as VLLM_SERVER_DEV_MODE=1 vllm serve MODEL "
                f'--weight-transfer-config \'{{"backend": "disk"}}\', on a machine that sees {folder} ({error})'
            ) from error

    async def _update(self, folder: Path, version: int, *, prepare: bool) -> None:
        if prepare:
            await self._post("/init_weight_transfer_engine", {"init_info": {}})
            self._is_prepared = True
        await self._post("/pause?mode=keep")
        try:
            await self._post("/start_weight_update")
            await self._post("/update_weights", {"update_info": {"path": str(folder)}})
            await self._post("/finish_weight_update", {"weight_version": str(version)})
        finally:
            await self._post("/resume")

    async def _sample(self, request: GenerationRequest) -> tuple[list[int], list[float]]:
        body = {
            **_NEUTRAL,
            "prompt": list(request.prompt),
            "max_tokens": request.limit,
            "temperature": request.temperature,
            "top_p": request.top_p,
            # The sign bit is not the server's.
            "seed": mix_seed(request.seed, request.prompt) >> 1,
            "stop_token_ids": sorted(self._stop),
            "logprobs": 1,
            "return_token_ids": True,
        }
        answer = await self._ask("POST", "/v1/completions", body)
        try:
            (choice,) = answer["choices"]
            if choice.get("token_ids") is None:
                raise ConfigError(f"{self._address} sends no token ids: rollouts need vLLM 0.10.2 or newer")
            return [int(token) for token in choice["token_ids"]], [
                float(one) for one in choice["logprobs"]["token_logprobs"]
            ]
        except (KeyError, TypeError, ValueError) as error:
            raise BadReply(f"{self._address} sent no completion: {error!r}") from error


class SglangServer(RolloutServer):
    """An SGLang server."""

    _version_route = "/get_model_info"

    async def _load(self, folder: Path, version: int) -> None:
        """Load a folder from disk; replies under way are begun again with the new weights."""
        try:
            await self._post("/pause_generation", {"mode": "retract"})
            answer = await self._post(
                "/update_weights_from_disk", {"model_path": str(folder), "weight_version": str(version)}
            )
        except Rejected as error:
            raise ConfigError(f"{self._address} takes no weights: {error}") from error
        finally:
            await self._post("/continue_generation", {})
        if not answer.get("success"):
            raise ConfigError(
                f"{self._address} did not load the weights in {folder}; it must see that folder under the same path "
                f"({answer.get('message')})"
            )

    async def _sample(self, request: GenerationRequest) -> tuple[list[int], list[float]]:
        body = {
            "input_ids": list(request.prompt),
            "sampling_params": {
                **_NEUTRAL,
                "max_new_tokens": request.limit,
                "temperature": request.temperature,
                "top_p": request.top_p,
                "stop_token_ids": sorted(self._stop),
            },
            "return_logprob": True,
        }
        answer = await self._ask("POST", "/generate", body)
        try:
            meta = answer["meta_info"]
            if meta["finish_reason"]["type"] == "abort":
                raise Overloaded(f"{self._address} aborted the request: {meta['finish_reason'].get('message')}")
            # Triples of log-probability, id and text.
            pairs = [(float(one[0]), int(one[1])) for one in meta["output_token_logprobs"]]
        except (KeyError, TypeError, ValueError, IndexError) as error:
            raise BadReply(f"{self._address} sent no generation: {error!r}") from error
        return [token for _, token in pairs], [logprob for logprob, _ in pairs]


def open_server(settings: RolloutServerSettings, stop: AbstractSet[int]) -> RolloutServer | None:
    """Return the server that the settings name, or None where rollouts are sampled in this process."""
    if not settings.address:
        return None
    kind = SglangServer if settings.engine == "sglang" else VllmServer
    return kind(settings, stop)


class WeightSync:
    """Passes new weights on before they are sampled from."""

    def __init__(self, policy: Policy, server: RolloutServer | None, folder: Path, config: TrainConfig) -> None:
        self._policy = policy
        self._server = server
        # Absolute: the server runs in a folder of its own.
        self._folder = Path(config.server.weights or folder / "served").absolute()
        self._only_writes = config.way == "sequential"
        self._takes_snapshots = config.staleness > 0 and server is None
        self._version = 0
        self.is_changed = True
        """True where the policy was trained since the last refresh."""

    async def refresh(self) -> None:
        """Make the policy's weights those that are sampled from, if they changed."""
        if not self.is_changed:
            if self._server is not None:
                await self._server.restore()
            return
        self.is_changed = False
        if self._takes_snapshots:
            await asyncio.to_thread(self._policy.take_snapshot)
        if self._server is None:
            return
        self._version += 1
        place = self._folder / f"version-{self._version:06d}"
        if self._policy.is_sharded or ranks.rank() == 0:
            self._policy.save(place, whole=True)
        if ranks.rank() == 0:
            await self._server.load_weights(place, self._version)
            for old in self._folder.glob("version-*"):
                if old != place:
                    shutil.rmtree(old)
        self._server.loaded = (place, self._version)
        # No rank may sample before the server has the new weights.
        ranks.wait()

    def sampling(self) -> AbstractContextManager[None]:
        """Hold the weights ready for sampling in this process, or for judgements where a server samples."""
        return nullcontext() if self._server is not None and self._only_writes else self._policy.gathered()

    async def aclose(self) -> None:
        """Close the connections to the server and remove the weights that were written for it."""
        if self._server is not None:
            await self._server.aclose()
            if ranks.rank() == 0:
                shutil.rmtree(self._folder, ignore_errors=True)
