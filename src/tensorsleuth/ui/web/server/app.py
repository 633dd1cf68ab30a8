"""The server's routes: each question of `answers.QUESTIONS`, the list of runs, what is new in one, the page's files."""

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
from tensorsleuth.ui.web.page_files import HASHED, INDEX, PageFile
from tensorsleuth.ui.web.run.question import Question
from tensorsleuth.ui.web.run.run_list import list_runs
from tensorsleuth.ui.web.server.command_body import commanded
from tensorsleuth.ui.web.server.live import Follower, Standing, events
from tensorsleuth.ui.web.server.pause_state import Watching, state_now
from tensorsleuth.ui.web.server.replies import ASK_AGAIN, FOREVER, encoded, failure, of_error, reply, unkept
from tensorsleuth.ui.web.server.run_cache import Book, Shelf, question_at
from tensorsleuth.ui.web.server.safety import Guarded, Guarding

RUNS = "/api/runs"
ONE = f"{RUNS}/{{run}}"
LIVE = f"{ONE}/live"
PAUSE = f"{ONE}/pause"
DEBUG = f"{ONE}/debug"
GONE = 499  # the client left before its turn came; nobody reads this

Endpoint = Callable[[Request], Awaitable[Response]]


def make_app(shelf: Shelf, files: Mapping[str, PageFile], guarding: Guarding, stopping: asyncio.Event) -> ASGIApp:
    """Everything that `sleuth view` serves."""
    app = Starlette(
        routes=[*api_routes(shelf, stopping), Route("/{path:path}", partial(_file, files))],
        middleware=[Middleware(GZipMiddleware, minimum_size=1000, compresslevel=4)],
        exception_handlers={SleuthError: _told, HTTPException: _no_route, Exception: _broken},
    )
    return Guarded(app, guarding)


def api_routes(shelf: Shelf, stopping: asyncio.Event) -> list[Route]:
    """Return the routes, those without braces first: `tensors/at` is no tensor."""
    ordered = sorted(QUESTIONS, key=lambda question: question.path.count("{"))
    asked = [Route(f"{ONE}/{question.path}".rstrip("/"), _answering(shelf, question)) for question in ordered]
    paused = [Route(PAUSE, partial(_pause, shelf)), Route(DEBUG, partial(_debug, shelf), methods=["POST"])]
    return [Route(RUNS, partial(_runs, shelf)), Route(LIVE, _streaming(shelf, stopping)), *paused, *asked]


async def _runs(shelf: Shelf, request: Request) -> Response:
    found = await run_in_threadpool(list_runs, shelf.logdir, dict(request.query_params))
    return reply(request, encoded(found))


def _answering(shelf: Shelf, question: Question) -> Endpoint:
    async def answer(request: Request) -> Response:
        asked = {**request.query_params, **request.path_params}
        book = await run_in_threadpool(shelf.take, asked.pop("run"))
        async with book.turn:
            if await request.is_disconnected():
                return Response(status_code=GONE)
            body = await run_in_threadpool(lambda: encoded(book.ask(question, asked)))
        return reply(request, body)

    return answer


async def _pause(shelf: Shelf, request: Request) -> Response:
    """Return whether its program is paused, and where."""
    book = await run_in_threadpool(shelf.take, request.path_params["run"])
    state = await run_in_threadpool(state_now, book.opened.path)
    async with book.turn:
        tensor = await run_in_threadpool(book.paused_at, state)
    return reply(request, encoded({**state, "tensor": tensor}))


async def _debug(shelf: Shelf, request: Request) -> Response:
    """A command for the paused program."""
    command = await commanded(request)
    book = await run_in_threadpool(shelf.take, request.path_params["run"])
    said = await run_in_threadpool(book.console.do, command.line, command.columns)
    return unkept(encoded(said))


def _streaming(shelf: Shelf, stopping: asyncio.Event) -> Endpoint:
    async def stream(request: Request) -> Response:
        book = await run_in_threadpool(shelf.take, request.path_params["run"])
        follower = follow(book)
        headers = {"cache-control": "no-store", "x-accel-buffering": "no"}
        if request.method == "HEAD":
            return Response(headers=headers, media_type="text/event-stream")
        standing = Standing(Watching(book.opened.path), book.paused_at)
        stream = events(follower, standing, book.turn, stopping)
        return StreamingResponse(stream, media_type="text/event-stream", headers=headers)

    return stream


def follow(book: Book) -> Follower:
    """Asks a run what it is, and what is wrong with it."""
    run, verdict = question_at(""), question_at("verdict")
    return Follower(lambda: book.ask(run, {}), lambda: book.ask(verdict, {}))


async def _file(files: Mapping[str, PageFile], request: Request) -> Response:
    path = request.path_params["path"] or INDEX
    found = files.get(path)
    if found is None:
        return failure(404, f"There is no /{path} here.", "The page is at /; what can be asked: docs/http-api.md")
    return reply(request, found.body, found.kind, FOREVER if path.startswith(HASHED) else ASK_AGAIN)


def _told(request: Request, error: Exception) -> Response:
    assert isinstance(error, SleuthError)
    return of_error(error)


def _no_route(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return failure(error.status_code, error.detail, None)


def _broken(request: Request, error: Exception) -> Response:
    """A mistake of ours; its traceback is in the terminal."""
    return failure(500, f"sleuth view failed: {type(error).__name__}: {error}", "Its terminal has the traceback.")
