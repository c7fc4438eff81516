const PAGE_BYTES = 4096
const LOAD_ADDRESS = 0x40_00_00
const ENTRY = 0x80
const PAUSE = 0x100

/** How often the program writes. */
const BEAT_MS = 10

/**
 * A static program of x64 of two pages that writes a byte to its output every `BEAT_MS`. Its system
 * calls are such as gVisor changes, all on the first page, and an instruction begins on that page
 * and ends on the second: the least that shows what becomes of changed code.
 */
export function straddlingProgram(): Buffer {
  const program = Buffer.alloc(2 * PAGE_BYTES, 0x90)
  header().copy(program)
  const back = jump(PAGE_BYTES + 2, ENTRY)
  code().copy(program, ENTRY)
  program.writeBigInt64LE(0n, PAUSE)
  program.writeBigInt64LE(BigInt(BEAT_MS) * 1_000_000n, PAUSE + 8)
  Buffer.from([0xbb, 0, 0, 0, 0]).copy(program, PAGE_BYTES - 3) // mov $0, %ebx
  back.copy(program, PAGE_BYTES + 2)
  return program
}

/** `write(1, entry, 1)`, `nanosleep(pause, NULL)`, and on to the end of the page. */
function code(): Buffer {
  const calls = Buffer.concat([
    setRegister(0xbf, 1), // mov $1, %edi
    setRegister(0xbe, LOAD_ADDRESS + ENTRY), // mov $entry, %esi
    setRegister(0xba, 1), // mov $1, %edx
    systemCall(1),
    setRegister(0xbf, LOAD_ADDRESS + PAUSE), // mov $pause, %edi
    Buffer.from([0x31, 0xf6]), // xor %esi, %esi
    systemCall(35),
  ])
  return Buffer.concat([calls, jump(ENTRY + calls.length, PAGE_BYTES - 3)])
}

/** `mov $number, %eax; syscall`. */
function systemCall(number: number): Buffer {
  return Buffer.concat([setRegister(0xb8, number), Buffer.from([0x0f, 0x05])])
}

function setRegister(opcode: number, value: number): Buffer {
  const instruction = Buffer.from([opcode, 0, 0, 0, 0])
  instruction.writeUInt32LE(value, 1)
  return instruction
}

function jump(from: number, to: number): Buffer {
  const instruction = Buffer.from([0xe9, 0, 0, 0, 0])
  instruction.writeInt32LE(to - (from + instruction.length), 1)
  return instruction
}

/**
 * The header of an executable for x64 (elf(5)) with one segment, readable and executable: all of
 * the file.
 */
function header(): Buffer {
  const bytes = Buffer.alloc(64 + 56)
  Buffer.from([0x7f, 0x45, 0x4c, 0x46, 2, 1, 1]).copy(bytes)
  bytes.writeUInt16LE(2, 16) // an executable
  bytes.writeUInt16LE(62, 18) // of x64
  bytes.writeUInt32LE(1, 20)
  bytes.writeBigUInt64LE(BigInt(LOAD_ADDRESS + ENTRY), 24)
  bytes.writeBigUInt64LE(64n, 32)
  bytes.writeUInt16LE(64, 52)
  bytes.writeUInt16LE(56, 54)
  bytes.writeUInt16LE(1, 56)
  bytes.writeUInt32LE(1, 64) // a segment to load
  bytes.writeUInt32LE(5, 68)
  bytes.writeBigUInt64LE(BigInt(LOAD_ADDRESS), 80)
  bytes.writeBigUInt64LE(BigInt(LOAD_ADDRESS), 88)
  bytes.writeBigUInt64LE(BigInt(2 * PAGE_BYTES), 96)
  bytes.writeBigUInt64LE(BigInt(2 * PAGE_BYTES), 104)
  bytes.writeBigUInt64LE(BigInt(PAGE_BYTES), 112)
  return bytes
}
