"""What each CLI prints, in the form that its documentation gives: the stand-ins print it.

No CLI is run here. Where the documentation is: see ``documentation`` in each preset, and for Gemini
CLI ``packages/core/src/output/types.ts``.
"""

from __future__ import annotations

from devops_bench.core.json import JsonObject

Events = list[JsonObject]

CLAUDE: Events = [
    {"type": "system", "subtype": "init", "session_id": "s", "tools": ["Bash"], "model": "m"},
    {
        "type": "assistant",
        "message": {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "Look first.", "signature": "x"},
                {"type": "text", "text": "I look."},
                {
                    "type": "tool_use",
                    "id": "toolu_1",
                    "name": "Bash",
                    "input": {"command": "kubectl get pods"},
                },
            ],
        },
    },
    {
        "type": "user",
        "message": {
            "role": "user",
            "content": [
                {
                    "type": "tool_result",
                    "tool_use_id": "toolu_1",
                    "content": [{"type": "text", "text": "web-1 Running"}],
                    "is_error": False,
                }
            ],
        },
    },
    {
        "type": "assistant",
        "message": {"role": "assistant", "content": [{"type": "text", "text": "Done."}]},
    },
    {
        "type": "result",
        "subtype": "success",
        "is_error": False,
        "duration_ms": 1200,
        "num_turns": 2,
        "result": "Done.",
        "stop_reason": "end_turn",
        "total_cost_usd": 0.25,
        "usage": {
            "input_tokens": 10,
            "cache_creation_input_tokens": 20,
            "cache_read_input_tokens": 70,
            "output_tokens": 5,
        },
        "permission_denials": [],
    },
]

CODEX: Events = [
    {"type": "thread.started", "thread_id": "t"},
    {"type": "turn.started"},
    {"type": "item.completed", "item": {"id": "i0", "type": "reasoning", "text": "Look first."}},
    {
        "type": "item.started",
        "item": {
            "id": "i1",
            "type": "command_execution",
            "command": "kubectl get pods",
            "aggregated_output": "",
            "exit_code": None,
            "status": "in_progress",
        },
    },
    {
        "type": "item.completed",
        "item": {
            "id": "i1",
            "type": "command_execution",
            "command": "kubectl get pods",
            "aggregated_output": "web-1 Running",
            "exit_code": 0,
            "status": "completed",
        },
    },
    {"type": "item.completed", "item": {"id": "i2", "type": "agent_message", "text": "Done."}},
    {
        "type": "turn.completed",
        "usage": {"input_tokens": 100, "cached_input_tokens": 70, "output_tokens": 5},
    },
]

GEMINI: Events = [
    {"type": "init", "timestamp": "T", "session_id": "s", "model": "m"},
    {"type": "message", "timestamp": "T", "role": "user", "content": "the prompt"},
    {
        "type": "tool_use",
        "timestamp": "T",
        "tool_name": "run_shell_command",
        "tool_id": "c1",
        "parameters": {"command": "kubectl get pods"},
    },
    {
        "type": "tool_result",
        "timestamp": "T",
        "tool_id": "c1",
        "status": "success",
        "output": "web-1 Running",
    },
    {"type": "message", "timestamp": "T", "role": "assistant", "content": "Do", "delta": True},
    {"type": "message", "timestamp": "T", "role": "assistant", "content": "ne.", "delta": True},
    {
        "type": "result",
        "timestamp": "T",
        "status": "success",
        "stats": {
            "total_tokens": 105,
            "input_tokens": 100,
            "output_tokens": 5,
            "cached": 70,
            "input": 30,
            "duration_ms": 1200,
            "tool_calls": 1,
        },
    },
]

OPENCODE: Events = [
    {"type": "step_start", "timestamp": 1, "sessionID": "s", "part": {"type": "step-start"}},
    {
        "type": "tool_use",
        "timestamp": 2,
        "sessionID": "s",
        "part": {
            "type": "tool",
            "callID": "c1",
            "tool": "bash",
            "state": {
                "status": "completed",
                "input": {"command": "kubectl get pods"},
                "output": "web-1 Running",
                "metadata": {"exit": 0},
            },
        },
    },
    {
        "type": "step_finish",
        "timestamp": 3,
        "sessionID": "s",
        "part": {
            "type": "step-finish",
            "reason": "tool-calls",
            "cost": 0.125,
            "tokens": {
                "input": 10,
                "output": 1,
                "reasoning": 1,
                "cache": {"read": 30, "write": 10},
            },
        },
    },
    {"type": "text", "timestamp": 4, "sessionID": "s", "part": {"type": "text", "text": "Done."}},
    {
        "type": "step_finish",
        "timestamp": 5,
        "sessionID": "s",
        "part": {
            "type": "step-finish",
            "reason": "stop",
            "cost": 0.125,
            "tokens": {
                "input": 10,
                "output": 3,
                "reasoning": 0,
                "cache": {"read": 40, "write": 0},
            },
        },
    },
]
