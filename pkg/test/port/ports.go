package port

import (
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"strconv"
	"sync"
)

// Below are the ports of well-known servers. Above are the ephemeral ports (on Linux from 32768, elsewhere from 49152),
// and the node ports of Kubernetes (from 30000).
const (
	first     = 20000
	last      = 30000
	blockSize = 100
	blocks    = (last - first) / blockSize
)

var errAllTaken = errors.New("all are taken")

// A ports allocates ports in blocks. A process reserves a block by listening at its first port for its whole lifetime,
// and hands out the others in turn. Other processes skip a reserved block, even if its ports are free at the moment.
type ports struct {
	listen func(port int) (io.Closer, error)
	start  int // the block to try first

	mu      sync.Mutex
	tried   int // blocks
	rest    []int
	claimed []io.Closer // referenced here, so that the garbage collector does not close them
}

// process has the ports of this process, each of which is handed out once. It is global because callers of Find share
// no other state.
var process = &ports{listen: listen, start: rand.IntN(blocks)}

func listen(port int) (io.Closer, error) {
	return net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
}

// find returns a free port that has not been handed out yet.
func (p *ports) find() (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()

	cause := errAllTaken
	for {
		for len(p.rest) > 0 {
			port := p.rest[0]
			p.rest = p.rest[1:]

			l, err := p.listen(port)
			if err == nil {
				return port, l.Close()
			}
			cause = err
		}
		if p.tried == blocks {
			return 0, cause
		}
		if err := p.claim(); err != nil {
			cause = err
		}
	}
}

// claim reserves the next block. It fails if another process has it.
func (p *ports) claim() error {
	block := (p.start + p.tried) % blocks
	p.tried++

	from := first + block*blockSize
	l, err := p.listen(from)
	if err != nil {
		return err
	}
	p.claimed = append(p.claimed, l)
	for port := from + 1; port < from+blockSize; port++ {
		p.rest = append(p.rest, port)
	}

	return nil
}
