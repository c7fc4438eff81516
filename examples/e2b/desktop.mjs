// A desktop: a picture of its screen, the mouse, the keyboard, and the stream for browsers.
import assert from 'node:assert/strict'
import { Sandbox } from '@e2b/desktop'

const desktop = await Sandbox.create({ resolution: [800, 600] })
try {
  const picture = Buffer.from(await desktop.screenshot())
  assert.equal(picture.toString('latin1', 1, 4), 'PNG')
  assert.deepEqual([picture.readUInt32BE(16), picture.readUInt32BE(20)], [800, 600])
  assert.deepEqual(await desktop.getScreenSize(), { width: 800, height: 600 })

  await desktop.leftClick(300, 200)
  assert.deepEqual(await desktop.getCursorPosition(), { x: 300, y: 200 })

  // The terminal has the keyboard once its window is the active one. A search fails when another
  // window ends meanwhile.
  await desktop.launch('xfce4-terminal')
  const window = 'xdotool search --sync --onlyvisible --class xfce4-terminal windowactivate --sync'
  await desktop.commands.run(`until ${window}; do sleep 0.2; done`)
  await desktop.write('hostname > typed')
  await desktop.press('enter')
  await desktop.commands.run('until [ -s typed ]; do sleep 0.2; done')

  await desktop.stream.start({ requireAuth: true })
  const page = await fetch(desktop.stream.getUrl({ authKey: desktop.stream.getAuthKey() }))
  assert.equal(page.status, 200)
  assert.match(await page.text(), /noVNC/)
  // As the page does. The server speaks first (RFC 6143, 7.1.1).
  const socket = new WebSocket(`wss://${desktop.getHost(6080)}/websockify`)
  socket.binaryType = 'arraybuffer'
  const greeting = await new Promise((resolve, reject) => {
    socket.onmessage = ({ data }) => resolve(Buffer.from(data).toString())
    socket.onerror = reject
  })
  assert.match(greeting, /^RFB 003\.\d{3}\n$/)
  socket.close()
  await desktop.stream.stop()
} finally {
  await desktop.kill()
}
console.log('ok')
