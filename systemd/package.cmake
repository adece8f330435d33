# What is installed, by hand or as Debian packages: one component a program.
#
#   cmake --install build/release            both programs and what belongs to them, below /usr/local
#   cpack --config build/release/CPackConfig.cmake -B FOLDER      the packages mstore and mstored
#
# What only a package may bring (settings, papers) is in no installation by hand.

# -- papers are compressed, as Debian wants them --
set(papers)
function(compress file name)
  add_custom_command(OUTPUT ${CMAKE_BINARY_DIR}/papers/${name}.gz
    COMMAND gzip -9nc ${file} > ${CMAKE_BINARY_DIR}/papers/${name}.gz
    DEPENDS ${file} VERBATIM)
  set(papers ${papers} ${CMAKE_BINARY_DIR}/papers/${name}.gz PARENT_SCOPE)
endfunction()
file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/papers)

function(install_man component section file)
  get_filename_component(name ${file} NAME)
  compress(${file} ${name})
  set(papers ${papers} PARENT_SCOPE)
  install(FILES ${CMAKE_BINARY_DIR}/papers/${name}.gz DESTINATION ${CMAKE_INSTALL_MANDIR}/man${section}
          COMPONENT ${component})
endfunction()

install_man(mstore 1 ${CMAKE_SOURCE_DIR}/docs/mstore.1)
install_man(mstored 5 ${CMAKE_SOURCE_DIR}/docs/mstored.conf.5)
install_man(mstored 7 ${CMAKE_BINARY_DIR}/mstore-protocol.7)
install_man(mstored 8 ${CMAKE_SOURCE_DIR}/docs/mstored.8)
compress(${CMAKE_SOURCE_DIR}/systemd/debian/changelog changelog)
add_custom_target(papers ALL DEPENDS ${papers})

# -- programs --
install(TARGETS mstore DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT mstore)
install(TARGETS mstored DESTINATION ${CMAKE_INSTALL_SBINDIR} COMPONENT mstored)
foreach(program mstore mstored)
  if(NOT CMAKE_CROSSCOMPILING)
    set(scripts ${CMAKE_BINARY_DIR}/completion/${program})
    install(FILES ${scripts}.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions
            RENAME ${program} COMPONENT ${program})
    install(FILES ${scripts}.zsh DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions
            RENAME _${program} COMPONENT ${program})
    install(FILES ${scripts}.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d
            COMPONENT ${program})
  endif()
  install(FILES systemd/debian/copyright ${CMAKE_BINARY_DIR}/papers/changelog.gz
          DESTINATION share/doc/${program} COMPONENT ${program} EXCLUDE_FROM_ALL)
endforeach()

# -- the daemon's surroundings: below PREFIX/lib, where systemd looks for both prefixes --
install(FILES systemd/90-mstore.conf DESTINATION lib/sysctl.d COMPONENT mstored)
install(FILES systemd/mstored.sysusers DESTINATION lib/sysusers.d RENAME mstored.conf COMPONENT mstored)
file(READ ${CMAKE_SOURCE_DIR}/systemd/mstored.service unit)
string(REPLACE "/usr/local/bin/mstored" "/usr/sbin/mstored" unit "${unit}")
string(REGEX REPLACE "# For /etc/systemd/system/[^\n]*\n[^\n]*If the root" "# If the root" unit "${unit}")
file(WRITE ${CMAKE_BINARY_DIR}/mstored.service "${unit}")
install(FILES ${CMAKE_BINARY_DIR}/mstored.service DESTINATION lib/systemd/system
        COMPONENT mstored EXCLUDE_FROM_ALL)
install(FILES systemd/mstored.tmpfiles DESTINATION lib/tmpfiles.d RENAME mstored.conf
        COMPONENT mstored EXCLUDE_FROM_ALL)
install(FILES systemd/mstored.conf DESTINATION /etc/mstore COMPONENT mstored EXCLUDE_FROM_ALL)

# -- the packages --
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
    OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_COMPONENTS_ALL mstore mstored)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_MAINTAINER "mstore contributors <mstore@mstore.example>")
set(CPACK_DEBIAN_PACKAGE_SECTION net)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_MSTORE_PACKAGE_NAME mstore)
set(CPACK_DEBIAN_MSTORED_PACKAGE_NAME mstored)
# CPack's own default, which it leaves out: each package has a summary of its own.
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${CMAKE_PROJECT_NAME} built using CMake")
set(CPACK_DEBIAN_MSTORE_DESCRIPTION "fetch AI models from a NAS and store them there
Pushes and pulls AI models, folders of a few huge files, over several
connections at once, and checks every block of them against the hash that was
made where the model came from. A command that was cut off goes on where it
was. Talks to mstored on the NAS, over a network that you trust: nothing is
encrypted.")
set(CPACK_DEBIAN_MSTORED_DESCRIPTION "keep AI models on a NAS and serve them to mstore
Stores AI models as plain files in plain folders below one root, which Samba
and NFS may serve as well, and replaces each as a whole. Serves this machine
only until the settings say otherwise. It is for a network that you trust:
nothing is encrypted.")
set(CPACK_DEBIAN_MSTORED_PACKAGE_DEPENDS
    "systemd | systemd-standalone-sysusers, systemd | systemd-standalone-tmpfiles")
set(CPACK_DEBIAN_MSTORED_PACKAGE_SUGGESTS mstore)
set(CPACK_DEBIAN_MSTORE_PACKAGE_SUGGESTS librsvg2-bin) # bench report --chart FILE.png
file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/control)
file(COPY_FILE ${CMAKE_SOURCE_DIR}/systemd/debian/mstored.conffiles ${CMAKE_BINARY_DIR}/control/conffiles)
set(CPACK_DEBIAN_MSTORED_PACKAGE_CONTROL_EXTRA ${CMAKE_BINARY_DIR}/control/conffiles)
foreach(script postinst prerm postrm)
  file(COPY_FILE ${CMAKE_SOURCE_DIR}/systemd/debian/mstored.${script} ${CMAKE_BINARY_DIR}/control/${script})
  list(APPEND CPACK_DEBIAN_MSTORED_PACKAGE_CONTROL_EXTRA ${CMAKE_BINARY_DIR}/control/${script})
endforeach()
include(CPack)
