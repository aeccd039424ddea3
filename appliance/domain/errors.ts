// Every error code in one table: HTTP status, exit code of the CLI, and the hint that says what to do.

export interface ErrorKind {
  readonly status: number;
  readonly exit: number;
  readonly hint: string;
}

export const ERRORS = {
  internal: {
    status: 500,
    exit: 1,
    hint: 'This is a defect of Coldiron. Search the log for the correlation id and report it.',
  },
  usage: { status: 400, exit: 2, hint: 'Run the command with --help.' },
  invalid_request: { status: 400, exit: 2, hint: 'Correct the named field and send the request again.' },
  invalid_config: { status: 400, exit: 3, hint: 'Correct each listed problem, then run: coldiron check' },
  invalid_inventory: {
    status: 400,
    exit: 3,
    hint: 'Correct each listed problem, then run: coldiron check',
  },
  invalid_templates: {
    status: 409,
    exit: 3,
    hint: 'Correct the named template, then run `coldiron check`, which renders all templates for every node.',
  },
  not_writable: {
    status: 500,
    exit: 5,
    hint: 'Name a folder that you may write to and that has free space; nothing was written.',
  },
  broken_boot_chain: {
    status: 409,
    exit: 3,
    hint: 'Build the boot files again: coldiron assets build, then coldiron assets verify.',
  },
  invalid_sku: {
    status: 422,
    exit: 3,
    hint: 'Name an active SKU of the catalogue that fits the host; the message lists them.',
  },
  not_found: { status: 404, exit: 4, hint: 'List the nodes: coldiron nodes list' },
  conflict: { status: 409, exit: 5, hint: 'Read the current state, then decide again.' },
  node_in_use: {
    status: 409,
    exit: 5,
    hint: 'Check its state (coldiron nodes show NODE): only a retired node can be removed.',
  },
  version_conflict: {
    status: 409,
    exit: 5,
    hint: 'Another request changed the object; read it again, then repeat your change.',
  },
  request_in_progress: {
    status: 409,
    exit: 5,
    hint: 'Wait until the first request is complete; the same Idempotency-Key then returns its answer.',
  },
  answer_not_kept: {
    status: 409,
    exit: 5,
    hint: 'The request was completed. Read the current state; to repeat the request, use a new Idempotency-Key.',
  },
  idempotency_key_reused: {
    status: 422,
    exit: 2,
    hint: 'Use a new Idempotency-Key for each new request; repeat a key only with the same request.',
  },
  not_deployable: {
    status: 409,
    exit: 5,
    hint: 'Correct each listed reason, then repeat the command; nothing was armed or changed.',
  },
  session_over: {
    status: 410,
    exit: 5,
    hint: 'The session of this work has ended. Boot the machine again to start a new one.',
  },
  work_failed: { status: 409, exit: 9, hint: 'Find the cause: coldiron diagnose NODE' },
  probe_failed: {
    status: 422,
    exit: 5,
    hint: 'Check the address, port and firewall from the appliance, or send probe: false.',
  },
  unauthenticated: {
    status: 401,
    exit: 6,
    hint: 'Send a token: Authorization: Bearer … (the first one is in <state>/admin-token).',
  },
  forbidden: { status: 403, exit: 6, hint: 'Use a token with the named role.' },
  rate_limited: { status: 429, exit: 7, hint: 'Wait for the time in Retry-After, then try again.' },
  not_running: { status: 503, exit: 7, hint: 'Start the appliance: coldiron serve' },
  unreachable: {
    status: 504,
    exit: 7,
    hint: 'Check the address, the port and the firewall between here and the appliance.',
  },
  server_untrusted: {
    status: 502,
    exit: 6,
    hint: "Name the CA of the appliance's certificate in NODE_EXTRA_CA_CERTS=FILE, and use the host name that the certificate names.",
  },
  service_unavailable: {
    status: 503,
    exit: 7,
    hint: 'The named component is missing or unreachable: start it or make it reachable, then try again.',
  },
  outcome_unknown: {
    status: 503,
    exit: 7,
    hint: 'The change may or may not have been made. Repeat the request with the same Idempotency-Key; if the answer is the same, read the object and use a new key.',
  },
  store_unavailable: { status: 503, exit: 7, hint: 'Check the disk and the database; no change was acknowledged.' },
  vault_unavailable: {
    status: 503,
    exit: 7,
    hint: 'Restore the previous vault key (<state>/vault-key), or set the credentials again: coldiron bmc set-credentials NODE',
  },
  authority_unavailable: {
    status: 503,
    exit: 7,
    hint: 'Restore the named key file from a backup, or give the correct passphrase; without the key nothing can be signed.',
  },
  enrollment_refused: {
    status: 403,
    exit: 6,
    hint: 'Give the node a new bundle: coldiron token reissue NODE; the audit log has the reason for the refusal.',
  },
  invalid_bundle: { status: 409, exit: 3, hint: 'Correct each listed problem, then request the bundle again.' },
  bmc_off_limits: {
    status: 409,
    exit: 5,
    hint: "Declare the node's BMC and allow its site to use BMCs (bmc_mode: real), or do it by hand.",
  },
  bmc_login_failed: {
    status: 502,
    exit: 6,
    hint: 'Set the correct user name and password: coldiron bmc set-credentials NODE',
  },
  bmc_locked_out: {
    status: 503,
    exit: 7,
    hint: 'Wait for the stated time, or set the correct credentials, which ends the lockout.',
  },
  bmc_untrusted: {
    status: 502,
    exit: 6,
    hint: 'Find out why its certificate changed; if the BMC or its certificate was replaced on purpose: coldiron bmc forget-certificate NODE',
  },
  bmc_unreachable: {
    status: 504,
    exit: 7,
    hint: "Check the BMC's address, cable and VLAN, and that IPMI over LAN or Redfish is enabled.",
  },
  bmc_busy: { status: 503, exit: 7, hint: 'Try again in a moment; a console can be taken over with --steal.' },
  bmc_unsupported: {
    status: 422,
    exit: 5,
    hint: 'This BMC does not support the operation, or not over this protocol.',
  },
  bmc_failed: {
    status: 502,
    exit: 7,
    hint: "Read the BMC's answer; the node's trail lists every attempt: coldiron trail NODE",
  },
  payload_too_large: { status: 413, exit: 2, hint: 'Split the request into several smaller ones.' },
  tampered: {
    status: 409,
    exit: 8,
    hint: 'Treat the store as compromised: compare with a backup from before the named entry.',
  },
} as const satisfies Record<string, ErrorKind>;

export type ErrorCode = keyof typeof ERRORS;

/**
 * A failure with a code from the table. `details`: lines for a person, one finding each. `hint`: what to do; an error that
 * knows a more exact hint than the table passes its own.
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
