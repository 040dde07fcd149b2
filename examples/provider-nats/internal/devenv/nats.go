package devenv

import (
	stderrors "errors"
	"net"
	"os"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/moorage-dev/moorage/pkg/errors"
)

const natsReady = 2 * time.Minute

// NATS is a server of NATS with JetStream in this process, on 127.0.0.1 and
// without credentials. Use StartNATS.
type NATS struct {
	server    *server.Server
	temporary string
}

// StartNATS starts a server that keeps its data in dir, or if that is empty in a
// temporary folder that Stop removes. Port zero is any that is free.
func StartNATS(dir string, port int) (*NATS, error) {
	n := &NATS{}

	if dir == "" {
		temporary, err := os.MkdirTemp("", "provider-nats-")
		if err != nil {
			return nil, errors.Wrap(err, "cannot create a folder for NATS")
		}

		dir, n.temporary = temporary, temporary
	}

	if port == 0 {
		port = server.RANDOM_PORT
	}

	var err error
	if n.server, err = server.NewServer(&server.Options{
		Host: "127.0.0.1", Port: port, JetStream: true, StoreDir: dir, NoLog: true, NoSigs: true,
	}); err != nil {
		return nil, stderrors.Join(errors.Wrap(err, "cannot configure NATS"), n.Stop())
	}

	n.server.Start()

	if !n.server.ReadyForConnections(natsReady) {
		return nil, stderrors.Join(errors.New("NATS does not become ready: is its port free?"), n.Stop())
	}

	return n, nil
}

// URL returns the address for clients.
func (n *NATS) URL() string { return n.server.ClientURL() }

// Port returns the port it listens on, to start another in its place.
func (n *NATS) Port() int {
	if addr, ok := n.server.Addr().(*net.TCPAddr); ok {
		return addr.Port
	}

	return 0
}

// Stop stops the server. Its data stay, unless they are temporary.
func (n *NATS) Stop() error {
	if n.server != nil {
		n.server.Shutdown()
		n.server.WaitForShutdown()
	}

	if n.temporary == "" {
		return nil
	}

	return errors.Wrap(os.RemoveAll(n.temporary), "cannot remove the data of NATS")
}
