// Command serve is a harbour office on 127.0.0.1:8090, to play with.
package main

import (
	"log"
	"net/http"
	"os"
	"time"

	"github.com/moorage-dev/moorage/internal/docs/tutorial/harbour"
)

func main() {
	server := http.Server{
		Addr:              "127.0.0.1:8090",
		Handler:           &harbour.Fake{Token: os.Getenv("HARBOUR_TOKEN")},
		ReadHeaderTimeout: time.Second,
	}
	log.Print("the harbour office is open at http://", server.Addr)
	log.Fatal(server.ListenAndServe())
}
