"""The routes of the server: each of `answers.QUESTIONS`, the list of runs, events of a run, the files of the page."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from functools import partial

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp

from tensorsleuth.core.errors import SleuthError
from tensorsleuth.ui.web.answers import QUESTIONS
from tensorsleuth.ui.web.page_files import HASHED_FOLDER, INDEX, PageFile
from tensorsleuth.ui.web.run.question import Question
from tensorsleuth.ui.web.run.run_list import list_runs
from tensorsleuth.ui.web.server.access_control import AccessControl, AccessPolicy
from tensorsleuth.ui.web.server.command_body import read_command
from tensorsleuth.ui.web.server.live_events import PauseFollower, RunFollower, event_stream
from tensorsleuth.ui.web.server.pause_state import PauseWatcher, state_now
from tensorsleuth.ui.web.server.replies import (
    CACHE_FOREVER,
    REVALIDATE,
    encode_json,
    error_reply,
    reply,
    reply_for_error,
    uncached_reply,
)
from tensorsleuth.ui.web.server.run_cache import CachedRun, RunCache, question_for_path

RUNS_ROUTE = "/api/runs"
RUN_ROUTE = f"{RUNS_ROUTE}/{{run}}"
LIVE_ROUTE = f"{RUN_ROUTE}/live"
PAUSE_ROUTE = f"{RUN_ROUTE}/pause"
DEBUG_ROUTE = f"{RUN_ROUTE}/debug"
CLIENT_GONE = 499  # the client left before its turn came; nobody reads this status

Endpoint = Callable[[Request], Awaitable[Response]]


def make_app(
    run_cache: RunCache, files: Mapping[str, PageFile], access_policy: AccessPolicy, stopping: asyncio.Event
) -> ASGIApp:
    """Return the app with everything that `sleuth view` serves."""
    app = Starlette(
        routes=[*api_routes(run_cache, stopping), Route("/{path:path}", partial(_file, files))],
        middleware=[Middleware(GZipMiddleware, minimum_size=1000, compresslevel=4)],
        exception_handlers={SleuthError: _sleuth_error, HTTPException: _no_route, Exception: _internal_error},
    )
    return AccessControl(app, access_policy)


def api_routes(run_cache: RunCache, stopping: asyncio.Event) -> list[Route]:
    """Return the routes, those without placeholders first: `tensors/at` is not a tensor."""
    ordered = sorted(QUESTIONS, key=lambda question: question.path.count("{"))
    asked = [
        Route(f"{RUN_ROUTE}/{question.path}".rstrip("/"), _question_endpoint(run_cache, question))
        for question in ordered
    ]
    paused = [
        Route(PAUSE_ROUTE, partial(_pause, run_cache)),
        Route(DEBUG_ROUTE, partial(_debug, run_cache), methods=["POST"]),
    ]
    return [
        Route(RUNS_ROUTE, partial(_runs, run_cache)),
        Route(LIVE_ROUTE, _stream_endpoint(run_cache, stopping)),
        *paused,
        *asked,
    ]


async def _runs(run_cache: RunCache, request: Request) -> Response:
    found = await run_in_threadpool(list_runs, run_cache.logdir, dict(request.query_params))
    return reply(request, encode_json(found))


def _question_endpoint(run_cache: RunCache, question: Question) -> Endpoint:
    async def answer(request: Request) -> Response:
        asked = {**request.query_params, **request.path_params}
        book = await run_in_threadpool(run_cache.get, asked.pop("run"))
        async with book.turn:
            if await request.is_disconnected():
                return Response(status_code=CLIENT_GONE)
            body = await run_in_threadpool(lambda: encode_json(book.ask(question, asked)))
        return reply(request, body)

    return answer


async def _pause(run_cache: RunCache, request: Request) -> Response:
    """Return whether its program is paused, and where."""
    book = await run_in_threadpool(run_cache.get, request.path_params["run"])
    state = await run_in_threadpool(state_now, book.opened.path)
    async with book.turn:
        tensor = await run_in_threadpool(book.paused_at, state)
    return reply(request, encode_json({**state, "tensor": tensor}))


async def _debug(run_cache: RunCache, request: Request) -> Response:
    """Run a command in the paused program."""
    command = await read_command(request)
    book = await run_in_threadpool(run_cache.get, request.path_params["run"])
    said = await run_in_threadpool(book.console.run_line, command.line, command.columns)
    return uncached_reply(encode_json(said))


def _stream_endpoint(run_cache: RunCache, stopping: asyncio.Event) -> Endpoint:
    async def stream(request: Request) -> Response:
        book = await run_in_threadpool(run_cache.get, request.path_params["run"])
        follower = make_follower(book)
        headers = {"cache-control": "no-store", "x-accel-buffering": "no"}
        if request.method == "HEAD":
            return Response(headers=headers, media_type="text/event-stream")
        pause_follower = PauseFollower(PauseWatcher(book.opened.path), book.paused_at)
        stream = event_stream(follower, pause_follower, book.turn, stopping)
        return StreamingResponse(stream, media_type="text/event-stream", headers=headers)

    return stream


def make_follower(cached_run: CachedRun) -> RunFollower:
    """Returns the facts about a run, and what is wrong with it."""
    run, verdict = question_for_path(""), question_for_path("verdict")
    return RunFollower(lambda: cached_run.ask(run, {}), lambda: cached_run.ask(verdict, {}))


async def _file(files: Mapping[str, PageFile], request: Request) -> Response:
    path = request.path_params["path"] or INDEX
    found = files.get(path)
    if found is None:
        return error_reply(404, f"There is no /{path} here.", "The page is at /; docs/http-api.md lists all addresses")
    return reply(request, found.body, found.kind, CACHE_FOREVER if path.startswith(HASHED_FOLDER) else REVALIDATE)


def _sleuth_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, SleuthError)
    return reply_for_error(error)


def _no_route(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return error_reply(error.status_code, error.detail, None)


def _internal_error(request: Request, error: Exception) -> Response:
    """Reply to an error of ours, whose traceback is in the terminal."""
    return error_reply(500, f"sleuth view failed: {type(error).__name__}: {error}", "Its terminal has the traceback.")
