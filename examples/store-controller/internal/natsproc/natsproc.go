// Package natsproc runs NATS servers as processes that can be killed. The program
// that uses it is the server, too: it calls Main first.
package natsproc

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// environment names the variable in which a process finds that it is a server.
const environment = "NATSPROC_NODE"

// A Node is a server of a cluster.
type Node struct {
	Name    string
	Port    int
	Route   int      // its port for other nodes; 0 if it is alone
	Routes  []string // of all nodes
	Dir     string
	process *exec.Cmd
}

// Main is the server if this process is to be one, and does not return then.
func Main() {
	text := os.Getenv(environment)
	if text == "" {
		return
	}
	if err := serve(text); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func serve(text string) error {
	var n Node
	if err := json.Unmarshal([]byte(text), &n); err != nil {
		return err
	}
	opts := &server.Options{ServerName: n.Name, Host: "127.0.0.1", Port: n.Port, JetStream: true, StoreDir: n.Dir, NoLog: true, NoSigs: true}
	if n.Route != 0 {
		opts.Cluster = server.ClusterOpts{Name: "store", Host: "127.0.0.1", Port: n.Route}
		opts.Routes = server.RoutesFromStr(strings.Join(n.Routes, ","))
	}
	srv, err := server.NewServer(opts)
	if err != nil {
		return err
	}
	srv.Start()
	end := make(chan os.Signal, 1)
	signal.Notify(end, syscall.SIGTERM, os.Interrupt)
	<-end
	srv.Shutdown()
	srv.WaitForShutdown()

	return nil
}

// Cluster returns that many nodes below a folder, none of them started.
func Cluster(dir string, size int) ([]*Node, error) {
	ports, err := free(2 * size)
	if err != nil {
		return nil, err
	}
	nodes, routes := make([]*Node, size), make([]string, size)
	for i := range size {
		routes[i] = "nats-route://127.0.0.1:" + strconv.Itoa(ports[2*i+1])
	}
	for i := range size {
		name := "node" + strconv.Itoa(i+1)
		nodes[i] = &Node{Name: name, Port: ports[2*i], Dir: filepath.Join(dir, name)}
		if size > 1 {
			nodes[i].Route, nodes[i].Routes = ports[2*i+1], routes
		}
	}

	return nodes, nil
}

// free finds ports that nobody listens at, and that no system gives to those who
// connect somewhere: a node that was killed finds its own free again, although
// others tried to connect to it meanwhile.
func free(n int) (ports []int, err error) {
	const first, last = 10000, 30000
	for range 100 * n {
		l, listenErr := net.Listen("tcp", "127.0.0.1:"+strconv.Itoa(first+rand.IntN(last-first)))
		if err = listenErr; err != nil {
			continue
		}
		defer l.Close()
		if ports = append(ports, l.Addr().(*net.TCPAddr).Port); len(ports) == n {
			return ports, nil
		}
	}

	return nil, fmt.Errorf("cannot find %d free ports: %w", n, err)
}

// URL returns where clients connect.
func (n *Node) URL() string { return "nats://127.0.0.1:" + strconv.Itoa(n.Port) }

// Start starts the process and waits until it listens. It ends with this one.
func (n *Node) Start() error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	text, err := json.Marshal(n)
	if err != nil {
		return err
	}
	n.process = exec.Command(self)
	n.process.Env = append(os.Environ(), environment+"="+string(text))
	n.process.Stderr = os.Stderr
	dieWithParent(n.process)
	if err := n.process.Start(); err != nil {
		return err
	}
	deadline := time.Now().Add(2 * time.Minute)
	for {
		c, err := net.DialTimeout("tcp", "127.0.0.1:"+strconv.Itoa(n.Port), time.Second)
		if err == nil {
			return c.Close()
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%s does not listen: %w", n.Name, err)
		}
		<-time.After(20 * time.Millisecond)
	}
}

// Kill ends the process without letting it do anything first.
func (n *Node) Kill() error {
	if n.process == nil {
		return nil
	}
	if err := n.process.Process.Kill(); err != nil {
		return err
	}
	_ = n.process.Wait() // killed is what it should be
	n.process = nil

	return nil
}
