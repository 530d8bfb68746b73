/** Time limits of connections and requests, in milliseconds. Tests pass other times. */
export interface TimeLimits {
  /** Until the head of a request has arrived. */
  headMs: number
  /** Until the body of a management request has arrived. */
  bodyMs: number
  /** Until the body of a relayed request has arrived. */
  relayBodyMs: number
  /** For reading and dropping the rest of a body after the response was sent without it. */
  restMs: number
  /** For a client that does not read a pending response. */
  writeMs: number
  /** For an open connection without a request. */
  idleMs: number
  /**
   * For idle connections of `TRUSTED_PROXIES`. Longer than proxies keep theirs; otherwise a proxy
   * may send a request on a connection that was just closed, and cannot retry it. Traefik keeps
   * them for 90 seconds, Caddy for 2 minutes, Google's load balancers for 10. Source: Google Cloud,
   * "External Application Load Balancer overview", timeouts.
   */
  proxyIdleMs: number
  /** Interval of the checks for head timeouts. */
  checkMs: number
  /**
   * Calls are queuing if even the fastest reservation of points takes longer. Usually one takes a
   * few milliseconds.
   */
  slowReservationMs: number
}

export const TIME_LIMITS: TimeLimits = {
  headMs: 15_000,
  bodyMs: 30_000,
  relayBodyMs: 120_000,
  restMs: 5000,
  writeMs: 60_000,
  idleMs: 75_000,
  proxyIdleMs: 620_000,
  // Node's default of half a minute would triple the limit.
  checkMs: 5000,
  slowReservationMs: 25,
}
