// Every error code in one table: HTTP status, exit code of the CLI, and what to do about it.

export interface ErrorKind {
  readonly status: number;
  readonly exit: number;
  readonly hint: string;
}

export const ERRORS = {
  internal: {
    status: 500,
    exit: 1,
    hint: 'This is a bug in the appliance. Find the correlation id in its log and report it.',
  },
  usage: { status: 400, exit: 2, hint: 'Run the command with --help.' },
  invalid_request: { status: 400, exit: 2, hint: 'Correct the named field and send the request again.' },
  invalid_config: { status: 400, exit: 3, hint: 'Correct each listed problem, then run `coldiron check` again.' },
  invalid_inventory: {
    status: 400,
    exit: 3,
    hint: 'Correct each listed problem, then run `coldiron check` again.',
  },
  invalid_templates: {
    status: 409,
    exit: 3,
    hint: 'Correct the named template; `coldiron check` renders all templates for every node.',
  },
  not_writable: {
    status: 500,
    exit: 5,
    hint: 'Choose a folder that you may write to and that has free space; no files were left behind.',
  },
  broken_boot_chain: {
    status: 409,
    exit: 3,
    hint: 'Build the boot files again: coldiron assets build, then coldiron assets verify.',
  },
  appliance_degraded: {
    status: 503,
    exit: 5,
    hint: 'Run the command that each problem names, then run `coldiron check` again.',
  },
  invalid_sku: {
    status: 422,
    exit: 3,
    hint: 'Choose an active SKU that matches the host; list the catalogue: coldiron skus list',
  },
  not_found: { status: 404, exit: 4, hint: 'List the existing nodes: `coldiron nodes list`.' },
  conflict: { status: 409, exit: 5, hint: 'Read the current state and decide again.' },
  node_in_use: {
    status: 409,
    exit: 5,
    hint: 'Check who uses it, and its state: coldiron nodes show NODE',
  },
  not_retired: {
    status: 409,
    exit: 5,
    hint: 'Only a retired node can be removed: coldiron retire NODE',
  },
  approval_required: {
    status: 409,
    exit: 5,
    hint: 'Let people approve the named proposal (coldiron proposals show ID), then repeat the request; nothing was changed.',
  },
  version_conflict: { status: 409, exit: 5, hint: 'It was changed in the meantime; read it again.' },
  request_in_progress: {
    status: 409,
    exit: 5,
    hint: 'Wait for the first request; a repetition with the same Idempotency-Key then returns its response.',
  },
  answer_not_kept: {
    status: 409,
    exit: 5,
    hint: 'The request was executed, but its response was not stored. Read the current state; to execute it again, use a new Idempotency-Key.',
  },
  idempotency_key_reused: {
    status: 422,
    exit: 2,
    hint: 'Use a new Idempotency-Key for every new request; repeat a key only with the same request.',
  },
  not_deployable: {
    status: 409,
    exit: 5,
    hint: 'Fix each listed problem, then repeat the request; nothing was armed and nothing was changed.',
  },
  session_over: {
    status: 410,
    exit: 5,
    hint: 'The session has ended. Start the work again if it is still needed.',
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
    hint: 'Send a token: Authorization: Bearer …. Create one on the appliance: coldiron api-token create NAME --role ROLE.',
  },
  forbidden: { status: 403, exit: 6, hint: 'Use a token with the named role.' },
  rate_limited: { status: 429, exit: 7, hint: 'Wait for the time in the Retry-After header, then try again.' },
  too_many_streams: {
    status: 429,
    exit: 7,
    hint: 'Close streams that nobody reads, or use GET /api/v1/events with `wait`; then try again.',
  },
  not_running: { status: 503, exit: 7, hint: 'Start the appliance: coldiron serve' },
  unreachable: {
    status: 504,
    exit: 7,
    hint: 'Check the address, the port and the firewall between here and the appliance.',
  },
  server_untrusted: {
    status: 502,
    exit: 6,
    hint: "Set NODE_EXTRA_CA_CERTS=FILE to the CA of the appliance's certificate, and use a host name that the certificate is valid for.",
  },
  service_unavailable: {
    status: 503,
    exit: 7,
    hint: 'The named component is missing or unreachable: start it or make it reachable, then try again.',
  },
  outcome_unknown: {
    status: 503,
    exit: 7,
    hint: 'The change may or may not have been made. Repeat the request with the same Idempotency-Key; if the response is the same, read the object and use a new key.',
  },
  store_unavailable: { status: 503, exit: 7, hint: 'Check the disk and the database; nothing was saved.' },
  vault_unavailable: {
    status: 503,
    exit: 7,
    hint: 'Restore the vault key that was used before (<state>/vault-key), or set the credentials again: coldiron bmc set-credentials NODE --username NAME',
  },
  authority_unavailable: {
    status: 503,
    exit: 7,
    hint: 'Restore the named key file from a backup, or give the right passphrase; without it nothing can be signed.',
  },
  enrollment_refused: {
    status: 403,
    exit: 6,
    hint: 'Issue a new bundle for the node: coldiron token reissue NODE; the audit log says why the last one was rejected.',
  },
  invalid_bundle: { status: 409, exit: 3, hint: 'Correct each listed problem, then request the bundle again.' },
  bmc_off_limits: {
    status: 409,
    exit: 5,
    hint: "Declare the node's BMC and set bmc_mode: real for its site, or do it by hand.",
  },
  bmc_login_failed: {
    status: 502,
    exit: 6,
    hint: 'Set the right user name and password: coldiron bmc set-credentials NODE --username NAME',
  },
  bmc_locked_out: {
    status: 503,
    exit: 7,
    hint: 'Wait for the stated time, or set the right credentials: the next attempt is then allowed at once.',
  },
  bmc_untrusted: {
    status: 502,
    exit: 6,
    hint: 'Find out why its certificate changed; if it was replaced on purpose: coldiron bmc forget-certificate NODE',
  },
  bmc_unreachable: {
    status: 504,
    exit: 7,
    hint: "Check the BMC's address, cable and VLAN, and that IPMI over LAN or Redfish is switched on.",
  },
  bmc_busy: { status: 503, exit: 7, hint: 'Try again in a moment; a console can be taken over with --steal.' },
  bmc_unsupported: { status: 422, exit: 5, hint: 'The BMC does not support this, or not over this protocol.' },
  bmc_failed: {
    status: 502,
    exit: 7,
    hint: "Read the reply of the BMC; the node's trail has every attempt: coldiron trail NODE",
  },
  payload_too_large: { status: 413, exit: 2, hint: 'Send less at once, in several requests.' },
  tampered: {
    status: 409,
    exit: 8,
    hint: 'Treat the store as compromised: compare it with a backup from before the named entry.',
  },
} as const satisfies Record<string, ErrorKind>;

export type ErrorCode = keyof typeof ERRORS;

/**
 * An error with a code from the table. `details` are lines for a person, one problem each. `hint` says what to do; the caller may
 * pass one that is more specific than the table's.
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
