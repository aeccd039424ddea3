/** Where a server listens, or is to. */
export interface Listener {
  readonly service: 'dhcp' | 'tftp';
  /** An interface, or address and port. */
  readonly where: string;
  /** Those that are served there, where they are known. */
  readonly networks: readonly string[];
  /** Why it does not answer there; null: it does. */
  readonly problem: string | null;
}
