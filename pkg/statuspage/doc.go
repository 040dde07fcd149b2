// Package statuspage serves a page for the operators of a provider: which objects are not well, in which fields they
// differ, why, and when they are reconciled next; the connections with their limits; the last changes of external
// resources; and the queues. docs/status-page.md shows the page, and says who may see it.
//
// Start with [Add]: one call in the main of a provider switches the page on.
//
// The page is served on a loopback address only. It reads what the process knows, and the cache of the manager. It
// sends nothing to the API server, and computes nothing while no page is open.
package statuspage
