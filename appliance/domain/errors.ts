// Every failure a caller can meet, in one table: HTTP status, exit code of the CLI, and what to do about it.

export interface ErrorKind {
  readonly status: number;
  readonly exit: number;
  readonly hint: string;
}

export const ERRORS = {
  internal: { status: 500, exit: 1, hint: 'Look for the correlation id in the log; it is our mistake.' },
  usage: { status: 400, exit: 2, hint: 'Run the command with --help.' },
  invalid_request: { status: 400, exit: 2, hint: 'Correct the named field and send it again.' },
  invalid_config: { status: 400, exit: 3, hint: 'Correct each listed place; `coldiron check` lists them all again.' },
  invalid_inventory: {
    status: 400,
    exit: 3,
    hint: 'Correct each listed place; `coldiron check` lists them all again.',
  },
  invalid_templates: {
    status: 409,
    exit: 3,
    hint: 'Correct the named template; `coldiron check` tries them all on every node.',
  },
  not_writable: {
    status: 500,
    exit: 5,
    hint: 'Name a folder that you may write to and that has room; nothing was left behind.',
  },
  broken_boot_chain: {
    status: 409,
    exit: 3,
    hint: 'Gather the boot files again: coldiron assets build, then coldiron assets verify.',
  },
  invalid_sku: {
    status: 422,
    exit: 3,
    hint: 'Name an active SKU of the catalogue that fits the host; the message lists what it has.',
  },
  not_found: { status: 404, exit: 4, hint: 'List what there is: `coldiron nodes list`.' },
  conflict: { status: 409, exit: 5, hint: 'Look at the current state and decide again.' },
  node_in_use: {
    status: 409,
    exit: 5,
    hint: 'Look at its state (coldiron nodes show NODE): only a node that is retired can be removed.',
  },
  version_conflict: { status: 409, exit: 5, hint: 'Somebody else changed it in the meantime; read it again.' },
  request_in_progress: {
    status: 409,
    exit: 5,
    hint: 'Wait for the first request; the same Idempotency-Key then gives its answer.',
  },
  answer_not_kept: {
    status: 409,
    exit: 5,
    hint: 'It was done. Look at the current state; to do it once more, use a new Idempotency-Key.',
  },
  idempotency_key_reused: {
    status: 422,
    exit: 2,
    hint: 'Use a new Idempotency-Key for every new request; repeat a key only with the same request.',
  },
  not_deployable: {
    status: 409,
    exit: 5,
    hint: 'Remove each listed reason, then ask again; nothing was armed and nothing was touched.',
  },
  session_over: {
    status: 410,
    exit: 5,
    hint: 'Nobody waits for this work any more; boot the machine again if it is wanted.',
  },
  work_failed: { status: 409, exit: 9, hint: 'Read what happened: coldiron diagnose NODE' },
  probe_failed: {
    status: 422,
    exit: 5,
    hint: 'Check address, port and firewall from the appliance, or send probe: false.',
  },
  unauthenticated: {
    status: 401,
    exit: 6,
    hint: 'Send a token: Authorization: Bearer … (the first one is in <state>/admin-token).',
  },
  forbidden: { status: 403, exit: 6, hint: 'Ask for a token with the role that is named.' },
  rate_limited: { status: 429, exit: 7, hint: 'Wait as long as Retry-After says.' },
  not_running: { status: 503, exit: 7, hint: 'Start the appliance: coldiron serve' },
  unreachable: {
    status: 504,
    exit: 7,
    hint: 'Check the address, the port and the firewall between here and the appliance.',
  },
  server_untrusted: {
    status: 502,
    exit: 6,
    hint: "Name the CA of the appliance's certificate in NODE_EXTRA_CA_CERTS=FILE, and use the host name that it is for.",
  },
  service_unavailable: {
    status: 503,
    exit: 7,
    hint: 'The named part is missing or cannot be reached: start it or make it reachable, then try again.',
  },
  outcome_unknown: {
    status: 503,
    exit: 7,
    hint: 'The change may or may not have been made. Repeat the request with the same Idempotency-Key; if the answer is the same, look at the object and use a new key.',
  },
  store_unavailable: { status: 503, exit: 7, hint: 'Check the disk and the database; nothing was acknowledged.' },
  vault_unavailable: {
    status: 503,
    exit: 7,
    hint: 'Restore the vault key that was in use (<state>/vault-key), or set the credentials again: coldiron bmc set-credentials NODE',
  },
  authority_unavailable: {
    status: 503,
    exit: 7,
    hint: 'Bring the named key file back from a backup, or give the right passphrase; without it nothing can be signed.',
  },
  enrollment_refused: {
    status: 403,
    exit: 6,
    hint: 'Hand the node a new bundle: coldiron token reissue NODE; the audit says what was wrong with the last one.',
  },
  invalid_bundle: { status: 409, exit: 3, hint: 'Correct each listed place, and ask for the bundle again.' },
  bmc_off_limits: {
    status: 409,
    exit: 5,
    hint: "Declare the node's BMC, and let its site touch BMCs (bmc_mode: real), or do it by hand.",
  },
  bmc_login_failed: {
    status: 502,
    exit: 6,
    hint: 'Give the right user and password: coldiron bmc set-credentials NODE',
  },
  bmc_locked_out: {
    status: 503,
    exit: 7,
    hint: 'Wait as long as is said, or set the right credentials: that lets it be tried at once.',
  },
  bmc_untrusted: {
    status: 502,
    exit: 6,
    hint: 'Find out why it shows another face; if it was replaced on purpose: coldiron bmc forget-certificate NODE',
  },
  bmc_unreachable: {
    status: 504,
    exit: 7,
    hint: "Check the BMC's address, cable and VLAN, and that IPMI over LAN or Redfish is switched on.",
  },
  bmc_busy: { status: 503, exit: 7, hint: 'Try again in a moment; a console can be taken over with --steal.' },
  bmc_unsupported: { status: 422, exit: 5, hint: 'This BMC cannot do it, or not over this protocol.' },
  bmc_failed: {
    status: 502,
    exit: 7,
    hint: "Look at what the BMC said; the node's trail has every attempt: coldiron trail NODE",
  },
  payload_too_large: { status: 413, exit: 2, hint: 'Send less at once, in several requests.' },
  tampered: {
    status: 409,
    exit: 8,
    hint: 'Treat the store as compromised: compare with a backup from before the named entry.',
  },
} as const satisfies Record<string, ErrorKind>;

export type ErrorCode = keyof typeof ERRORS;

/**
 * A failure with a code from the table. `details` are lines for a person, one finding each. `hint` says what to do; a refusal
 * that knows better than the table gives its own.
 */
export class ColdironError extends Error {
  readonly code: ErrorCode;
  readonly details: readonly string[];
  readonly hint: string;

  constructor(code: ErrorCode, message: string, details: readonly string[] = [], hint: string = ERRORS[code].hint) {
    super(message);
    this.name = 'ColdironError';
    this.code = code;
    this.details = details;
    this.hint = hint;
  }
}
