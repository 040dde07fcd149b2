// Package disaster is the drill of docs/backup.md: objects are restored from a backup into
// another cluster while the first one is alive and when it is gone, etcd is put back under a
// running provider, and the external system under running objects. make disaster runs it with
// 200 objects of every class.
package disaster
