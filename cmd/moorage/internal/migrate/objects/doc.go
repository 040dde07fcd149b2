// Package objects brings what another runtime stored in objects to where Moorage looks for it:
// external names, pauses, marks of creations and deletion policies; and takes that runtime's
// finalizers off when Moorage's are there. Start with [Plan], which changes nothing.
//
// Nothing of the other runtime's but its finalizers is removed, so that it can be gone back to.
package objects
