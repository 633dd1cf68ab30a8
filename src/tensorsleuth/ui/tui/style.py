"""The layout of the screen."""

from __future__ import annotations

SMALL_WIDTH, SMALL_HEIGHT = 70, 20  # in a smaller window, one pane at a time

CSS = """
Screen { layout: vertical; }
#verdict { height: auto; max-height: 3; padding: 0 1; }
#body { height: 1fr; }
#list { width: 2fr; }
#right { width: 3fr; }
#details { height: auto; min-height: 4; max-height: 9; padding: 0 1; }
#walk { height: 2fr; min-height: 4; padding: 0 1; }
#source { height: 3fr; min-height: 3; }
#output { height: 1fr; padding: 0 1; background: $background; scrollbar-size-vertical: 1; }
#list, #details, #walk, #source, #output {
  border: none; border-top: solid $foreground 40%; border-title-color: $foreground 70%;
}
#list:focus, #walk:focus, #source:focus, #output:focus {
  border-top: heavy $accent; border-title-color: $accent; border-title-style: bold;
}
#command { height: 1; border: none; padding: 0 1; background: $boost; }
#command:focus { border: none; background: $panel; }
#keys { height: 1; padding: 0 1; color: $foreground 60%; }
HelpScreen { align: center middle; }
HelpScreen > VerticalScroll {
  width: 90%; max-width: 100; height: 90%; border: round $accent; padding: 0 1; background: $surface;
}
"""
