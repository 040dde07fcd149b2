package port

import (
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"strconv"
	"sync"
)

// Below are the ports of well-known servers. Above are those that systems give to clients
// (Linux from 32768, others from 49152), and those of Services in Kubernetes (from 30000).
const (
	first     = 20000
	last      = 30000
	blockSize = 100
	blocks    = (last - first) / blockSize
)

var errAllTaken = errors.New("all are taken")

// ports hands ports out by blocks: a process listens at the first port of each block that
// it has as long as it lives, and hands out the others in turn. So the others that find a
// block taken leave its ports alone, those too at which nobody listens for the moment.
type ports struct {
	listen func(port int) (io.Closer, error)
	start  int // the block to try first

	mu      sync.Mutex
	tried   int // blocks
	rest    []int
	claimed []io.Closer // held, or the collector of garbage would close them
}

// process has the ports of this process, each of which is handed out once: whoever asks
// for one shares nothing with the others who do.
var process = &ports{listen: listen, start: rand.IntN(blocks)}

func listen(port int) (io.Closer, error) {
	return net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
}

// find returns a port that was not handed out yet and at which nobody listens.
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

// claim takes the next block, unless another process has it.
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
