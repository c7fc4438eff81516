"""A desktop: a picture of its screen, the mouse, the keyboard, and the stream for browsers."""

import ssl
import urllib.request

from e2b_desktop import Sandbox

with Sandbox.create(resolution=(800, 600)) as desktop:
    picture = bytes(desktop.screenshot())
    assert picture[1:4] == b"PNG", picture[:8]
    assert desktop.get_screen_size() == (800, 600)

    desktop.left_click(300, 200)
    assert desktop.get_cursor_position() == (300, 200)

    # The terminal has the keyboard once its window is the active one. A search fails when another
    # window ends meanwhile.
    desktop.launch("xfce4-terminal")
    window = "xdotool search --sync --onlyvisible --class xfce4-terminal windowactivate --sync"
    desktop.commands.run(f"until {window}; do sleep 0.2; done")
    desktop.write("hostname > typed")
    desktop.press("enter")
    desktop.commands.run("until [ -s typed ]; do sleep 0.2; done")

    desktop.stream.start(require_auth=True)
    url = desktop.stream.get_url(auth_key=desktop.stream.get_auth_key())
    with urllib.request.urlopen(url, context=ssl.create_default_context()) as page:
        assert page.status == 200
        assert b"noVNC" in page.read()
    desktop.stream.stop()
print("ok")
