// Signing in to the web page.

import { type Operation, V1, WRITES } from '../operation.ts';

export const SIGN_IN_OPERATIONS = {
  getSession: {
    method: 'GET',
    path: `${V1}/session`,
    access: 'viewer',
    tag: 'tokens',
    summary: 'Show who calls, with which role, and when the session of the web page ends',
    errors: [],
    write: null,
    cli: null,
  },
  signIn: {
    method: 'POST',
    path: `${V1}/session`,
    access: 'public',
    tag: 'tokens',
    summary: 'Sign in to the web page with a token or a one-time code; the answer sets the session cookie',
    status: 201,
    errors: ['unauthenticated', 'forbidden', 'rate_limited'],
    write: { ...WRITES, secretAnswer: true },
    cli: null,
  },
  signOut: {
    method: 'DELETE',
    path: `${V1}/session`,
    access: 'viewer',
    tag: 'tokens',
    summary: 'Sign out of the web page',
    errors: ['conflict'],
    write: WRITES,
    cli: null,
  },
  createSignInCode: {
    method: 'POST',
    path: `${V1}/session/codes`,
    access: 'viewer',
    tag: 'tokens',
    summary: 'Create a one-time code that opens the web page with the rights of the caller, within 5 minutes',
    status: 201,
    errors: [],
    write: { ...WRITES, secretAnswer: true },
    cli: 'ui',
  },
} as const satisfies Readonly<Record<string, Operation>>;
