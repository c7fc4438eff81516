import { type AttachServerFrame, HoltError } from '@holt/protocol'
import { limitReached } from '../../foundation/errors/limit-reached.ts'

/** The maximum number of attachments of one command, of one project, and of the service. */
const maxInRoom = 64
const maxInProject = 512
const maxInAll = 1024

/** An attachment to a command, as the others see it. */
export interface Member {
  /**
   * The client's name, null if it gave none. A new attachment with the same name replaces this one.
   */
  readonly client: string | null
  /** Receives a frame for every attachment. */
  tell(frame: AttachServerFrame): void
  /** Called when another attachment becomes the writer. */
  loseWriting(): void
  /** Called when the same client has attached again. */
  leaveForSuccessor(): void
}

/** The attachments of one command, and the writer among them. */
export class Room {
  readonly projectId: string
  readonly #rooms: Rooms
  readonly #name: string
  readonly #members = new Set<Member>()
  #writer: Member | null = null

  constructor(rooms: Rooms, { projectId, name }: { projectId: string; name: string }) {
    this.projectId = projectId
    this.#rooms = rooms
    this.#name = name
  }

  get size(): number {
    return this.#members.size
  }

  /**
   * Adds an attachment. It replaces an older one of the same client. Returns true if that one was
   * the writer.
   */
  join(member: Member): boolean {
    const older = [...this.#members].find(({ client }) => client !== null && client === member.client)
    const wrote = older !== undefined && this.#writer === older
    if (wrote) this.#writer = null
    older?.leaveForSuccessor()
    this.#members.add(member)
    this.#rooms.joined(this.#name, this)
    return wrote
  }

  /** Removes an attachment. Idempotent. */
  leave(member: Member): void {
    this.release(member)
    if (this.#members.delete(member)) this.#rooms.left(this.#name, this)
  }

  /**
   * Makes a member the writer if there is none, or if it takes over. Returns true if it is the
   * writer.
   */
  claim(member: Member, takeover: boolean): boolean {
    if (this.#writer === member) return true
    if (this.#writer !== null && !takeover) return false
    const before = this.#writer
    this.#writer = member
    before?.loseWriting()
    return true
  }

  /** Ends the writing of a member. */
  release(member: Member): void {
    if (this.#writer === member) this.#writer = null
  }

  tell(frame: AttachServerFrame): void {
    for (const member of this.#members) member.tell(frame)
  }
}

/** The rooms of all commands with attachments. */
export class Rooms {
  readonly #rooms = new Map<string, Room>()
  readonly #byProject = new Map<string, number>()
  #members = 0

  /**
   * Returns the room of a command if there is space for one more. The caller has to join it
   * synchronously.
   */
  open(projectId: string, { runtime_id, command_id }: { runtime_id: string; command_id: string }): Room {
    const name = `${runtime_id}/${command_id}`
    const room = this.#rooms.get(name) ?? new Room(this, { projectId, name })
    if ((this.#byProject.get(projectId) ?? 0) >= maxInProject)
      throw limitReached('quota_exceeded', `The project has ${maxInProject} attachments, which is the limit.`, {
        limit: maxInProject,
      })
    if (this.#members >= maxInAll)
      throw new HoltError('unavailable', 'The service has reached its limit of attachments.')
    if (room.size >= maxInRoom)
      throw limitReached('quota_exceeded', `The command has ${maxInRoom} attachments, which is the limit.`, {
        limit: maxInRoom,
      })
    return room
  }

  joined(name: string, room: Room): void {
    this.#rooms.set(name, room)
    this.#count(room, 1)
  }

  /** Sends a frame to all attachments of a command. */
  tell({ runtime_id, command_id }: { runtime_id: string; command_id: string }, frame: AttachServerFrame): void {
    this.#rooms.get(`${runtime_id}/${command_id}`)?.tell(frame)
  }

  left(name: string, room: Room): void {
    this.#count(room, -1)
    if (room.size === 0) this.#rooms.delete(name)
  }

  #count({ projectId }: Room, change: 1 | -1): void {
    this.#members += change
    const ofProject = (this.#byProject.get(projectId) ?? 0) + change
    if (ofProject === 0) this.#byProject.delete(projectId)
    else this.#byProject.set(projectId, ofProject)
  }
}
