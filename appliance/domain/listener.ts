/** A socket that a server listens on or should listen on. */
export interface Listener {
  readonly service: 'dhcp' | 'tftp';
  /** An interface, or address and port. */
  readonly where: string;
  /** The networks that are served there, if known. */
  readonly networks: readonly string[];
  /** Why the server does not answer there; null: it does. */
  readonly problem: string | null;
}
