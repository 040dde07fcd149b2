package port

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"strconv"
	"sync"
)

// The ports below the range belong to well-known servers. Above the range are the ports that systems give to clients
// (Linux from 32768, others from 49152), and the ports of Kubernetes Services (from 30000).
const (
	first     = 20000
	last      = 30000
	blockSize = 20
	blocks    = (last - first) / blockSize
)

var errAllTaken = errors.New("all are taken")

// A Range returns ports of 127.0.0.1 between 20000 and 30000. No system assigns such a port to a client, or to a
// server that listens at port 0. So a server that is down for a while finds its port free again.
//
// A Range never returns a port twice. Two Ranges that are open at the same time return different ports, also in
// different processes. Make a Range with NewRange. It may be used concurrently.
type Range struct {
	// Ports are handed out by blocks: the Range listens at the first port of each block that it has, and hands out
	// the others in turn. A Range that finds a block taken leaves its ports alone, also those at which no process
	// listens at the moment.
	listen func(port int) (io.Closer, error)
	start  int // the block to try first

	mu      sync.Mutex
	tried   int // blocks
	rest    []int
	claimed []io.Closer // one per block
}

// NewRange returns a Range that has not reserved a port yet. The Range reserves the ports that it returns until
// Close, or until it is garbage collected.
func NewRange() *Range { return &Range{listen: listen, start: rand.IntN(blocks)} }

func listen(port int) (io.Closer, error) {
	return net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
}

// Find returns a port at which no process listens, and reserves it. It returns an error if all ports are in use. A
// Range can return at most 9,500 ports.
func (r *Range) Find() (int, error) {
	port, err := r.find()
	if err != nil {
		return 0, fmt.Errorf("cannot find a free port between %d and %d: %w", first, last, err)
	}

	return port, nil
}

// Close releases the ports. Other Ranges may then return them. Find must not be called after Close.
func (r *Range) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()

	var errs []error
	for _, l := range r.claimed {
		errs = append(errs, l.Close())
	}
	r.claimed, r.rest = nil, nil

	return errors.Join(errs...)
}

// find is Find with the cause alone as its error.
func (r *Range) find() (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()

	cause := errAllTaken
	for {
		for len(r.rest) > 0 {
			port := r.rest[0]
			r.rest = r.rest[1:]

			l, err := r.listen(port)
			if err == nil {
				return port, l.Close()
			}
			cause = err
		}
		if r.tried == blocks {
			return 0, cause
		}
		if err := r.claim(); err != nil {
			cause = err
		}
	}
}

// claim takes the next block, unless another Range has it.
func (r *Range) claim() error {
	block := (r.start + r.tried) % blocks
	r.tried++

	from := first + block*blockSize
	l, err := r.listen(from)
	if err != nil {
		return err
	}
	r.claimed = append(r.claimed, l)
	for port := from + 1; port < from+blockSize; port++ {
		r.rest = append(r.rest, port)
	}

	return nil
}
