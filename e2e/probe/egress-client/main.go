// A program as anybody would write it: it knows of no proxy and of no certificates but the system's.
package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
)

func main() {
	response, err := http.Get(os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	defer response.Body.Close()
	fmt.Println(response.Proto, response.StatusCode)
	io.Copy(os.Stdout, response.Body)
}
