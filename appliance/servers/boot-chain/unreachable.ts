// One of our own servers did not answer.

/** Further requests to the same server are pointless. */
export class Unreachable extends Error {}
